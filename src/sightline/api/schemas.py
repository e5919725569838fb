"""What the API answers: one model for each answer, from which schema and client follow.

Numbers that are not defined are null, never NaN. Boxes are shares of the image. Layers and heads
count from 0.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sightline.core.choices import By, Direction, Sign, Ties

__all__ = [
    "AccuracyLine",
    "AgreementLine",
    "AgreementMatrix",
    "Answer",
    "AttributionInfo",
    "Background",
    "BackgroundLine",
    "BenchmarkPerturbation",
    "Breakdown",
    "BreakdownLine",
    "Cascade",
    "CascadeLine",
    "CascadePoint",
    "CheckList",
    "Choice",
    "ClassLine",
    "Comparison",
    "ComparisonLine",
    "Confusion",
    "Correctness",
    "CorrectnessLine",
    "DetectedBox",
    "Detection",
    "DetectionClass",
    "DetectionCurve",
    "DetectionImage",
    "DetectionImageSummary",
    "DetectionImages",
    "DetectionList",
    "DetectionSummary",
    "ExemplarImage",
    "Exemplars",
    "FailureImage",
    "FailureReason",
    "Failures",
    "Faithfulness",
    "FaithfulnessLine",
    "Figure",
    "HeadLine",
    "HeadMatrix",
    "HeadRanking",
    "Health",
    "ImageDetail",
    "ImageHeads",
    "ImageLayers",
    "ImageMetrics",
    "ImageModels",
    "ImageModelsLine",
    "ImagePage",
    "ImagePercentiles",
    "ImageSummary",
    "LabelInfo",
    "LayerChange",
    "LayerChanges",
    "LayerChangesLine",
    "Leaderboard",
    "LeaderboardLine",
    "Live",
    "LiveAsked",
    "MapHeader",
    "MapPlace",
    "MethodInfo",
    "MetricInfo",
    "MetricTable",
    "ModelInfo",
    "Parts",
    "PartsLine",
    "PerturbationParam",
    "PerturbationStep",
    "PerturbationType",
    "Point",
    "Prediction",
    "Problem",
    "Progress",
    "Progression",
    "ProgressionLine",
    "PrototypeBenchmark",
    "PrototypeBenchmarkSummary",
    "PrototypeDetail",
    "PrototypeDrop",
    "PrototypeEffect",
    "PrototypeImage",
    "PrototypeLine",
    "PrototypeLines",
    "PrototypeList",
    "PrototypeMatch",
    "PrototypeMatches",
    "PrototypeNatures",
    "PrototypePremise",
    "PrototypeRelevance",
    "PrototypeSource",
    "PrototypeWeight",
    "Ranking",
    "RankingCell",
    "RankingLine",
    "Reading",
    "RegionInfo",
    "RemovalCurves",
    "RemovalLine",
    "ReviewGold",
    "ReviewHealth",
    "Sanity",
    "SanityLine",
    "Shift",
    "SimilarityAsked",
    "Sparsity",
    "SparsityProgress",
    "StudyInfo",
    "Sweep",
    "Table",
    "Verdict",
    "Warn",
]


Reading = Literal["signed", "absolute"]
"""How values of maps are read: as they are, or by their size."""
Verdict = Literal["pass", "fail", "cannot tell"]
Warn = Literal["cropped", "undefined", "dropped", "no regions"]


class Answer(BaseModel):
    """What all answers have in common: nothing unknown, nothing that changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Problem(Answer):
    """What went wrong, as RFC 9457 has it."""

    type: str = Field(default="about:blank", description="Kind of problem.")
    title: str = Field(description="Kind of problem in words.", examples=["Not found"])
    status: int = Field(description="The HTTP status.", examples=[404])
    detail: str = Field(
        description="What was expected, and what was seen.",
        examples=["no image 'facade-1.png' is stored; nearest: facade-00001.png"],
    )
    field: str | None = Field(
        default=None, description="The part of the request that is wrong.", examples=["image_id"]
    )


class Choice(Answer):
    """Which maps an answer is about, and by which rule pixels of theirs are selected."""

    model: str = Field(description="Full name.", examples=["demo/vit"])
    method: str = Field(examples=["rollout"])
    layer: int | None = Field(
        default=None,
        description="From 0; null: the method has no layers, or halves of the images have each "
        "their own, which `why` names.",
    )
    head: int | None = Field(default=None, description="From 0; null: heads are fused.")
    target: str = Field(default="", description="What is explained; empty: no class.")
    seed: int | None = Field(
        default=None,
        description="Of a method that draws; null: it draws nothing, or scores are means over its "
        "seeds.",
    )
    selection: str = Field(
        default="percentile",
        description="percentile, mass60, mean or matched.",
        examples=["percentile"],
    )
    percentile: float = Field(
        default=90, description="Of percentile selection; 90 selects the top 10%."
    )
    ties: Ties = Field(default="share", description="What equal pixels get.")
    sign: Sign = Field(default="positive", description="How values of the map are read.")
    chosen: tuple[str, ...] = Field(
        default=(),
        description="Names of what was not asked for and was chosen here.",
        examples=[["layer"]],
    )
    why: str = Field(default="", description="How it was chosen, in words.")


class Figure(Answer):
    """One score, beside what a map without information gets and the best that is possible."""

    metric: str = Field(description="metric[@threshold]", examples=["iou@90"])
    value: float | None = Field(description="Null: undefined.", examples=[0.25])
    chance: float | None = Field(default=None, examples=[0.053])
    ceiling: float | None = Field(default=None, examples=[0.971])
    uniform: float | None = Field(
        default=None, description="A uniform map's, where there is no chance."
    )
    beyond: float | None = Field(
        default=None,
        description="Where it lies between chance (0) and ceiling (1); null without both.",
    )
    mean: float | None = Field(default=None, description="Mean over all images of the data set.")
    low: float | None = Field(default=None, description="Lower end of the mean's 95% interval.")
    high: float | None = Field(default=None, description="Upper end.")
    median: float | None = Field(default=None, description="Of breakdowns.")
    std: float | None = Field(default=None, description="Of breakdowns: standard deviation.")
    n: int | None = Field(default=None, description="Images in the mean.")


class MetricInfo(Answer):
    """What a metric is, from the one table of metrics."""

    name: str
    title: str = Field(description="For people.", examples=["IoU"])
    meaning: str = Field(description="In one line.")
    direction: Direction
    low: float | None = Field(description="Of its range; null: no bound.")
    high: float | None
    chance: str | None = Field(description="Formula of what no information scores.")
    ceiling: str | None = Field(default=None, description="Formula of the best that is possible.")
    level: str
    category: str
    role: str
    spatial: bool
    needs: tuple[str, ...]
    undefined: tuple[str, ...]
    best_for: str
    limitation: str
    citation: str
    thresholded: bool = Field(description="Whether names end in @threshold.")


class MetricTable(Answer):
    """All metrics, and the names that this study stored."""

    metrics: tuple[MetricInfo, ...]
    stored: tuple[str, ...] = Field(examples=[["iou@90", "coverage"]])
    sortable: tuple[str, ...] = Field(description="By which images can be sorted.")
    default: str = Field(examples=["iou@90"])


class ModelInfo(Answer):
    """A model of the study."""

    name: str = Field(examples=["demo/vit@seed2"])
    base: str = Field(examples=["demo/vit"])
    variant: str = Field(default="", examples=["seed2"])
    layers: int = Field(description="How many; 0: none.")
    heads: int = Field(description="How many were kept apart in any layer; 0: fused alone.")
    layer_numbers: tuple[int, ...] = Field(
        default=(),
        description="Which layers are stored by any method; a study need not ask for all.",
    )
    head_numbers: tuple[int, ...] = Field(default=(), description="Which heads were kept apart.")
    baseline: bool = Field(description="Whether it stands for baselines that see no model.")
    methods: tuple[str, ...]
    similarity: bool = Field(description="Whether similarity to a region can be asked of it.")


class MethodInfo(Answer):
    """A method of the study."""

    name: str
    group: str = Field(examples=["attention"])
    what: str
    sign: str
    layered: bool
    paper: str
    targets: tuple[str, ...]


class LabelInfo(Answer):
    """A label of regions or of images."""

    label: str
    count: int = Field(description="Regions, or images, that have it.")
    images: int
    parents: tuple[str, ...] = ()


class Table(Answer):
    """Any table: columns and lines."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""


class StudyInfo(Answer):
    """What was asked, of what, by what."""

    name: str
    path: str = Field(description="Name of the folder of the store.")
    study: dict[str, Any] = Field(description="Every choice, as in the study's file.")
    yaml: str = Field(description="The study's file.")
    provenance: dict[str, Any] = Field(description="Versions, digests, machine.")
    plan: Table = Field(description="A line for each source of maps: tasks, done.")
    models: tuple[ModelInfo, ...]
    methods: tuple[MethodInfo, ...]
    labels: tuple[LabelInfo, ...] = Field(description="Of regions, with the labels above.")
    styles: tuple[LabelInfo, ...] = Field(description="Of images.")
    splits: tuple[str, ...]
    images: int
    percentiles: tuple[float, ...]
    selections: tuple[str, ...] = Field(description="Rules that were stored.")
    resolution: str
    default: Choice | None = Field(
        description="What is chosen where nothing is asked for; null while nothing is stored."
    )
    pictures: str = Field(
        description="Version of the images' files: with it as ?v= they may be kept for ever."
    )
    downloads: tuple[str, ...] = Field(description="Names for /api/export/{name}.")


class ReviewGold(Answer):
    """How far the gold set is, and how it was drawn."""

    images: int = Field(description="How many images it has.")
    done: int = Field(description="How many of them are annotated completely.")
    locked: bool = Field(description="Whether nothing in it changes any more.")
    reopened: int = Field(default=0, description="How often its lock was taken away.")
    random: bool = Field(default=True, description="Whether it was drawn at random.")
    seed: int | None = Field(default=None, description="Of the draw; null: picked by hand.")
    by: str = Field(default="", description="What its strata are; empty: there are none.")
    version: int = Field(
        default=0, description="Number of its last event: what lock and reopen expect."
    )


class ReviewHealth(Answer):
    """The review that is served."""

    proposals: int = Field(description="How many regions are proposed.")
    open: int = Field(description="How many of them are not decided, skipped ones included.")
    gold: ReviewGold | None = Field(description="The gold set; null: there is none.")
    tasks: int = Field(default=0, description="Questions about maps, for people to answer.")


class Health(Answer):
    """Whether the service is up, and what it has loaded."""

    status: Literal["ok"] = "ok"
    version: str
    study: str
    images: int
    models: int
    tasks_done: int
    tasks_all: int
    pictures: bool = Field(description="Whether the images can be shown.")
    maps: bool = Field(description="Whether maps were kept.")
    heads: bool = Field(description="Whether single heads were stored.")
    detection: tuple[str, ...] = Field(description="Names of stored evaluations.")
    sparsity: bool = Field(description="Whether the sparsity report can be made.")
    checks: tuple[str, ...] = ()
    prototypes: tuple[str, ...] = ()
    review: ReviewHealth | None = Field(
        default=None, description="The review that is served; null: none is."
    )
    missing: dict[str, str] = Field(default={}, description="Why something is not there.")
    warming: bool = Field(
        default=False,
        description="Whether what is likely to be asked for is still being prepared: answers may "
        "take longer until then.",
    )


class Progress(Answer):
    """How far a study has come."""

    done: int
    all: int
    running: bool = Field(description="Whether a process writes the store now.")
    finished: bool
    rows: int
    updated: str | None = Field(description="When the last task was stored; ISO 8601.")
    version: str = Field(description="Changes whenever answers may.")


class ImageSummary(Answer):
    """An image in the gallery."""

    image: str
    labels: tuple[str, ...]
    split: str
    width: int | None
    height: int | None
    area: float | None = Field(description="Annotated share.")
    regions: int
    value: float | None
    chance: float | None
    ceiling: float | None
    visible: float | None = Field(description="Share of the annotated area that the model saw.")
    warnings: tuple[Warn, ...]


class ImagePage(Answer):
    """A page of images."""

    total: int = Field(description="Images that pass the filters.")
    offset: int
    limit: int
    sort: str
    ascending: bool
    metric: str = Field(description="Whose values stand beside the images.")
    choice: Choice
    note: str
    items: tuple[ImageSummary, ...]


class RegionInfo(Answer):
    """An annotated region."""

    index: int = Field(description="In the order of the annotation file; bbox/{bbox_index}.")
    label: str
    ancestors: tuple[str, ...]
    kind: str = Field(examples=["box"])
    box: tuple[float, float, float, float] = Field(description="x0, y0, x1, y1 as shares.")
    outline: tuple[tuple[tuple[float, float], ...], ...] = Field(
        default=(), description="Rings of x, y as shares, of regions that are no boxes."
    )
    area: float | None
    dropped: str = Field(default="", description="Why it is not scored; empty: it is.")
    ignore: bool = False


class Prediction(Answer):
    """What a classifier says of an image."""

    model: str
    predicted: str
    probability: float | None
    label: str
    correct: bool | None


class ImageDetail(Answer):
    """An image with its regions."""

    image: str
    labels: tuple[str, ...]
    split: str
    width: int | None
    height: int | None
    area: float | None
    regions: tuple[RegionInfo, ...]
    predictions: tuple[Prediction, ...]


class MapPlace(Answer):
    """Where the raster of a map lies on its image."""

    x0: float = Field(description="Left edge of the raster, as a share of the image's width.")
    y0: float
    x1: float
    y1: float


class MapHeader(Answer):
    """What stands before the values in the binary answer of /api/maps/{id}."""

    image: str
    choice: Choice
    rows: int
    columns: int
    place: MapPlace
    low: float = Field(description="Least value, as the map is read.")
    high: float = Field(description="Greatest value, as the map is read.")
    dataset_low: float | None = Field(default=None, description="The same over a sample of images.")
    dataset_high: float | None = None
    cells: tuple[int, int] = Field(description="Rows and columns of the model's own grid.")
    cells_place: MapPlace | None = Field(
        default=None, description="Where that grid lies, which may reach beyond the image."
    )
    regions: tuple[int, ...] = Field(description="Indices of the masks that follow, in order.")
    ignore: bool = Field(description="Whether a mask of pixels that do not count comes last.")
    kept: int = Field(description="Pixels that count.")
    scale: float = Field(
        default=1.0,
        description="What the values that follow are to be multiplied by, a power of 2: 1 unless "
        "they are too large or too small for 32 bits. Scores do not depend on it.",
    )


class ImageMetrics(Answer):
    """Scores of one map against the union of an image's regions, or one of them."""

    image: str
    region: int | None
    label: str | None
    choice: Choice
    iou: float | None
    chance: float | None = Field(description="Of the IoU.")
    ceiling: float | None = Field(description="Of the IoU.")
    corrected: float | None = Field(description="(iou − chance) / (ceiling − chance)")
    coverage: float | None
    recall: float | None
    precision: float | None
    lift: float | None
    pointing: float | None
    attention_area: float | None = Field(description="Share of the pixels that is selected.")
    annotation_area: float | None = Field(description="Share of the pixels that is annotated.")
    visible: float | None
    figures: tuple[Figure, ...] = Field(description="All of these and more, each with chance.")
    divergence: str = Field(description="What disagreeing metrics may mean, in words; or empty.")
    rank: float | None = Field(
        default=None, description="Share of images that score less than this one."
    )
    note: str


class Point(Answer):
    """One point of a curve."""

    x: float
    value: float | None
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    ceiling: float | None = None
    n: int | None = None
    undefined: int | None = None


class ImageLayers(Answer):
    """One image's scores over the layers."""

    image: str
    region: int | None
    choice: Choice
    metric: str
    points: tuple[Point, ...]
    note: str
    warnings: tuple[str, ...]


class ImagePercentiles(Answer):
    """One image's score over the percentiles."""

    image: str
    region: int | None
    choice: Choice
    metric: str
    points: tuple[Point, ...]
    best: Point | None
    note: str


class ImageModels(Answer):
    """All models on one image."""

    image: str
    region: int | None
    metric: str
    lines: tuple[ImageModelsLine, ...]
    note: str
    warnings: tuple[str, ...]


class ImageModelsLine(Answer):
    """One model and method on one image."""

    choice: Choice
    group: str
    value: float | None
    chance: float | None
    ceiling: float | None
    rank: float | None


class HeadLine(Answer):
    """A head."""

    layer: int
    head: int
    value: float | None
    low: float | None = None
    high: float | None = None
    chance: float | None
    ceiling: float | None
    n: int | None = None
    undefined: int | None = None
    rank: float | None


class ImageHeads(Answer):
    """The heads on one image, the best first."""

    image: str
    region: int | None
    choice: Choice
    metric: str
    lines: tuple[HeadLine, ...]
    note: str
    warnings: tuple[str, ...]


class SimilarityAsked(Answer):
    """A box, or a region of the annotation, to which patches are compared."""

    box: tuple[float, float, float, float] | None = Field(
        default=None,
        description="x0, y0, x1, y1 as shares of the image.",
        examples=[[0.2, 0.2, 0.4, 0.5]],
    )
    region: int | None = Field(default=None, description="Index of a region, in place of a box.")
    model: str | None = None
    layer: int | None = Field(
        default=None, ge=0, description="From 0; the last features unless given."
    )


class LeaderboardLine(Answer):
    """A model, method and target."""

    name: str = Field(default="", description="As figures call it; the same in every answer.")
    models: int = Field(default=1, description="How many share it: equal baselines are one line.")
    rank: float | None
    model: str
    method: str
    group: str
    target: str
    layer: int | str | None
    value: float | None
    low: float | None
    high: float | None
    median: float | None
    std: float | None
    chance: float | None
    random: float | None = Field(
        default=None,
        description="What a random ranking gets: of average precision, where it is known.",
    )
    ceiling: float | None
    uniform: float | None
    corrected: float | None
    beside: str | None = Field(
        default=None, description="Of recall and lift, which are never read alone: another score."
    )
    beside_value: float | None = Field(default=None, description="Its mean over images.")
    percentile_q1: float | None = Field(
        default=None,
        description="Of best_iou: lower quartile over images of the percentile that gives it.",
    )
    percentile_median: float | None = Field(default=None, description="Its median.")
    percentile_q3: float | None = Field(default=None, description="Its upper quartile.")
    n: int
    undefined: int
    chosen: str


class BestBaseline(Answer):
    """A configuration against the best baseline of the run, paired by image."""

    metric: str
    configuration: str = Field(description="Its name; empty where only baselines are scored.")
    value: float | None
    chosen: str = Field(description="How its layer or method was chosen.")
    is_baseline: bool = Field(description="Whether the configuration is a baseline itself.")
    baseline: str = Field(description="The baseline with the best mean; empty where there is none.")
    baseline_value: float | None = Field(description="Its mean over images.")
    baseline_chosen: str = Field(description="How the layer of the baseline was chosen.")
    difference: float | None = Field(description="Configuration minus baseline.")
    low: float | None
    high: float | None
    p: float | None = Field(description="Two-sided, by sign-flip test.")
    n: int = Field(description="Images where both are defined.")
    split: bool = Field(description="Whether split-half selection was used for the difference.")
    sentence: str


class Leaderboard(Answer):
    """The best first, baselines among them."""

    metric: str
    lines: tuple[LeaderboardLine, ...]
    best_baseline: BestBaseline | None = Field(
        description="The best line that is no baseline against the best baseline of the run; null "
        "where no value is better than another, or nothing is scored."
    )
    note: str
    warnings: tuple[str, ...]


class ProgressionLine(Answer):
    """One line over layers, or percentiles."""

    name: str = Field(default="", description="As figures call it; the same in every answer.")
    models: int = Field(default=1, description="How many share it: equal baselines are one line.")
    model: str
    method: str
    group: str
    target: str
    layer: int | str | None = None
    layered: bool = Field(
        default=True, description="False: no layers; its one point (x 0) stands beside any layer."
    )
    points: tuple[Point, ...]


class Progression(Answer):
    """Means over the images by layer."""

    metric: str
    lines: tuple[ProgressionLine, ...]
    note: str
    warnings: tuple[str, ...]


class Sweep(Answer):
    """Means over the images by percentile."""

    metric: str
    lines: tuple[ProgressionLine, ...]
    note: str
    warnings: tuple[str, ...]


class RankingCell(Answer):
    """The mean and the rank of a line by one metric."""

    metric: str
    value: float | None
    rank: float | None
    significant: bool | None = Field(
        default=None,
        description="Whether it differs from the best beyond chance; null: not tested.",
    )


class RankingLine(Answer):
    """One line of the ranking heatmap."""

    name: str = Field(default="", description="As figures call it; the same in every answer.")
    models: int = Field(default=1, description="How many share it: equal baselines are one line.")
    model: str
    method: str
    group: str
    target: str = ""
    layer: int | str | None
    cells: tuple[RankingCell, ...]


class Ranking(Answer):
    """Ranks of lines by metrics; equal ones share a rank."""

    metrics: tuple[str, ...]
    lines: tuple[RankingLine, ...]
    note: str
    warnings: tuple[str, ...]


class BreakdownLine(Answer):
    """A label: IoU, recall, pointing and coverage of its regions; or the score of its images."""

    label: str
    parents: tuple[str, ...] = Field(default=(), description="Labels directly above.")
    figures: tuple[Figure, ...] = Field(description="mean is null: value is a mean itself.")
    n: int = Field(description="Regions, or images, with a defined score.")
    images: int
    undefined: int


class Breakdown(Answer):
    """Scores by label of regions or images."""

    by: Literal["labels", "styles"]
    choice: Choice
    metric: str
    lines: tuple[BreakdownLine, ...]
    note: str
    warnings: tuple[str, ...]


class HeadRanking(Answer):
    """The heads of one model, the best first."""

    choice: Choice
    metric: str
    lines: tuple[HeadLine, ...]
    note: str
    warnings: tuple[str, ...]


class HeadMatrix(Answer):
    """Heads by labels of regions: which head looks at what."""

    choice: Choice
    metric: str
    labels: tuple[str, ...]
    counts: tuple[int, ...] = Field(description="Regions of each label.")
    heads: tuple[tuple[int, int], ...] = Field(description="Layer and head of each line.")
    values: tuple[tuple[float | None, ...], ...]
    note: str
    warnings: tuple[str, ...]


class Exemplars(Answer):
    """Images, or their regions of one label, on which a head does best."""

    choice: Choice
    metric: str
    label: str | None
    items: tuple[ExemplarImage, ...]
    note: str


class ExemplarImage(Answer):
    """An image on which a head does well."""

    image: str
    region: int | None
    value: float | None
    chance: float | None


class ComparisonLine(Answer):
    """a against b, image by image."""

    a: str
    b: str
    model: str
    method: str
    target: str
    layer_a: int | str | None
    layer_b: int | str | None
    n: int
    value_a: float | None
    value_b: float | None
    chance_a: float | None = Field(default=None, description="Chance, over the images of a.")
    chance_b: float | None = Field(default=None, description="Chance, over the images of b.")
    ceiling_a: float | None = Field(default=None, description="The best that is possible of a.")
    ceiling_b: float | None = Field(default=None, description="The best that is possible of b.")
    difference: float | None = Field(description="a − b, mean over images.")
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    dz: float | None
    better: float | None
    equal: float | None
    worse: float | None
    sentence: str


class Shift(Answer):
    """How much an image's score moved from a to b."""

    image: str
    a: float | None
    b: float | None
    shift: float | None = Field(description="b − a")


class Comparison(Answer):
    """Two models, variants, methods or layers."""

    by: By
    metric: str
    summary: str
    best_baseline: BestBaseline | None = Field(
        description="The better side of the main line against the best baseline of the run; null "
        "where no value is better than another, or neither side is."
    )
    lines: tuple[ComparisonLine, ...]
    images: tuple[Shift, ...] = Field(description="Of the first line, the largest shift first.")
    note: str
    warnings: tuple[str, ...]


class Sparsity(Answer):
    """What missing labels may have done to the scores."""

    metric: str
    main: str
    best_baseline: BestBaseline = Field(description="The main line against the best baseline.")
    images: int
    regions: int
    findings: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    tables: dict[str, Table]
    note: str
    warnings: tuple[str, ...]


class SparsityProgress(Answer):
    """How far the report that is being made has come."""

    making: bool = Field(description="Whether one is being made now; others wait for it.")
    metric: str | None = Field(description="Which score it is about.")
    step: str | None = Field(description="What is being done.")
    done: int = Field(description="Of this step.")
    all: int = Field(description="Of this step; the number of steps is not known beforehand.")


class DetectionSummary(Answer):
    """One stored evaluation."""

    name: str
    protocol: str
    images: int | None
    figures: tuple[Figure, ...] = Field(description="COCO's 12, with intervals in low and high.")


class DetectionList(Answer):
    """The stored evaluations."""

    evaluations: tuple[DetectionSummary, ...]


class DetectionClass(Answer):
    """A class of an evaluation."""

    key: str
    name: str
    ap: float | None
    ap50: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    tp: int | None
    fp: int | None
    fn: int | None
    best_confidence: float | None = Field(description="From which on F1 is highest.")
    best_f1: float | None


class DetectionCurve(Answer):
    """Precision over recall of a class."""

    key: str
    name: str
    recall: tuple[float, ...]
    precision: tuple[float, ...]
    confidence: tuple[float | None, ...]


class Confusion(Answer):
    """Rows true, columns predicted."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class Detection(Answer):
    """All of one evaluation."""

    name: str
    protocol: str
    iou: float = Field(description="From which on boxes belong together.")
    confidence: float | None = Field(
        description="Lowest score of the counts and the confusion matrix; null: not stored."
    )
    figures: tuple[Figure, ...]
    classes: tuple[DetectionClass, ...]
    curves: tuple[DetectionCurve, ...]
    confusion: Confusion | None
    errors: dict[str, float | None] = Field(description="What each kind of error costs, in AP.")
    counts: dict[str, int] = Field(description="How many there are of each kind.")
    reliability: Table | None
    boxes: bool = Field(description="Whether boxes were stored, so that images can be shown.")
    note: str


class DetectedBox(Answer):
    """A true or predicted box of an image."""

    box: tuple[float, float, float, float] = Field(description="x0, y0, x1, y1 as shares.")
    label: str
    score: float | None = Field(description="Null: a true box.")
    state: Literal["TP", "FP", "FN", "found", "ignored"] = Field(
        description="found: a true box that a TP covers."
    )
    iou: float | None = Field(description="With the box it was paired with.")
    partner: int | None = Field(description="Index of that box in this list.")
    across: int | None = Field(
        description="Index of the box that the confusion matrix pairs it with, whatever their "
        "classes."
    )
    taken_for: str | None = Field(
        default=None, description="Label of that box, where it is another; else null."
    )


class DetectionImage(Answer):
    """Ground truth and predictions of one image at a confidence."""

    name: str
    image: str
    confidence: float
    iou: float
    boxes: tuple[DetectedBox, ...]
    tp: int
    fp: int
    fn: int


class DetectionImages(Answer):
    """Images behind a cell of the confusion matrix, or with the most errors."""

    name: str
    total: int
    items: tuple[DetectionImageSummary, ...]


class DetectionImageSummary(Answer):
    """An image of an evaluation."""

    image: str
    count: int = Field(description="Of the pairs asked for, or of errors.")
    tp: int
    fp: int
    fn: int
    shown: bool = Field(description="Whether the store has the picture.")


class CheckList(Answer):
    """Checks that are stored, and what can be asked of them."""

    checks: tuple[str, ...] = Field(examples=[["randomisation", "faithfulness", "parts"]])
    models: tuple[str, ...]
    methods: tuple[str, ...] = Field(description="Methods that were checked, baselines last.")
    targets: tuple[str, ...] = Field(description="What was explained; none: no class.")
    ways: tuple[str, ...] = Field(
        description="How weights were redrawn: full, top-down, bottom-up, single.",
        examples=[["full", "top-down"]],
    )
    measures: tuple[str, ...] = Field(
        description="By which maps of both networks are compared.", examples=[["spearman", "ssim"]]
    )
    readings: tuple[Reading, ...] = Field(
        description="Whether maps were compared as they are, and by the size of their values."
    )
    faithfulness: tuple[str, ...] = Field(
        description="Measures of faithfulness that are stored.", examples=[["deletion"]]
    )
    curves: tuple[str, ...] = Field(
        description="Those that are areas under curves that are stored.", examples=[["deletion"]]
    )
    table: Table = Field(
        description="A line for each check of each method: over how many images and draws."
    )


class SanityLine(Answer):
    """What becomes of a method's maps when the model forgets what it learnt."""

    model: str
    method: str
    target: str
    layer: int | None = Field(description="Layer that was checked.")
    best_layer: int | None = Field(
        description="Layer that the leaderboard reports for these maps; null without layers."
    )
    similarity: float | None = Field(
        description="Of maps of the trained and the randomised network; mean over images and draws."
    )
    low: float | None
    high: float | None
    cross: float | None = Field(description="Similarity to the map of another image.")
    difference: float | None = Field(description="similarity − cross, paired by image.")
    difference_low: float | None = Field(description="Lower end of its 95% interval.")
    difference_high: float | None = Field(description="Upper end.")
    verdict: Verdict = Field(description="fail: the map hardly depends on what was learnt.")
    guide: Literal["reliable", "between", "unreliable", ""] = Field(
        description="What the guide's rule says: below 0.3 reliable, above 0.6 unreliable; empty "
        "where there is no similarity."
    )
    cascade: str = Field(
        description="What the guide's rule says of the cascade; empty where none is stored."
    )
    edge: float | None = Field(description="Similarity to the edges of the image.")
    training: float | None = Field(
        description="Similarity to the map of the same network trained from another seed."
    )
    images: int
    seeds: int = Field(description="How many times weights were drawn.")


class Sanity(Answer):
    """Verdicts on whether maps depend on what the model learnt; they do not rank methods."""

    measure: str
    reading: Reading
    way: str
    lines: tuple[SanityLine, ...]
    note: str


class CascadePoint(Answer):
    """A stage of a cascade."""

    stage: int = Field(description="From 0, in the order of drawing; −1: nothing is redrawn.")
    name: str = Field(description="The part of the network that is redrawn last.")
    similarity: float | None = Field(description="To the map of the trained network.")
    low: float | None
    high: float | None
    accuracy: float | None = Field(description="Share of images whose label is still predicted.")
    accuracy_low: float | None = Field(description="Lower end of its 95% interval.")
    accuracy_high: float | None = Field(description="Upper end.")
    images: int


class CascadeLine(Answer):
    """A method's maps as one part of the network after the other is redrawn."""

    model: str
    method: str
    target: str
    layer: int | None = Field(description="Layer that was checked.")
    best_layer: int | None = Field(
        description="Layer that the leaderboard reports for these maps; null without layers."
    )
    cross: float | None = Field(description="Similarity to the map of another image.")
    edge: float | None = Field(description="Similarity to the edges of the image.")
    training: float | None = Field(
        description="Similarity to the map of the same network trained from another seed."
    )
    seeds: int = Field(description="How many times weights were drawn.")
    points: tuple[CascadePoint, ...]


class Cascade(Answer):
    """Similarity by stage, with the accuracy that the model has left."""

    measure: str
    reading: Reading
    way: str
    lines: tuple[CascadeLine, ...]
    note: str


class FaithfulnessLine(Answer):
    """One measure of faithfulness of one method, beside a random map."""

    model: str
    method: str
    group: str
    target: str
    layer: int | None = Field(description="Layer that was checked.")
    best_layer: int | None = Field(
        description="Layer that the leaderboard reports for these maps; null without layers."
    )
    measure: str
    value: float | None
    low: float | None
    high: float | None
    random: float | None = Field(description="What a random map gets on the same images.")
    difference: float | None = Field(
        description="value − random, paired by image; null of the random map itself, and of "
        "max_sensitivity and random_logit, which maps that know nothing pass or fail anyway."
    )
    difference_low: float | None = Field(description="Lower end of its 95% interval.")
    difference_high: float | None = Field(description="Upper end.")
    better: Literal["higher", "lower", "zero"] = Field(description="Which values are better.")
    images: int


class Faithfulness(Answer):
    """Whether the model's answer changes when pixels go that maps rank first."""

    measures: tuple[str, ...] = Field(description="In the order in which they are told.")
    lines: tuple[FaithfulnessLine, ...]
    note: str


class RemovalLine(Answer):
    """The score of the class as more and more pixels are changed."""

    model: str
    method: str
    group: str
    target: str
    layer: int | None = Field(description="Layer that was checked.")
    best_layer: int | None = Field(
        description="Layer that the leaderboard reports for these maps; null without layers."
    )
    points: tuple[Point, ...] = Field(description="x is the share of pixels that are changed.")


class RemovalCurves(Answer):
    """Curves of one measure of faithfulness."""

    measure: str
    lines: tuple[RemovalLine, ...]
    note: str


class PartsLine(Answer):
    """Parts whose removal changes the class, against what a map ranks first."""

    model: str
    method: str
    group: str
    target: str
    layer: int | None = Field(description="Layer that was checked.")
    best_layer: int | None = Field(
        description="Layer that the leaderboard reports for these maps; null without layers."
    )
    precision: float | None = Field(description="Share of the parts ranked first that decide.")
    precision_low: float | None = Field(description="Lower end of its 95% interval.")
    precision_high: float | None = Field(description="Upper end.")
    recall: float | None = Field(description="Share of the deciding parts that are ranked first.")
    recall_low: float | None = Field(description="Lower end of its 95% interval.")
    recall_high: float | None = Field(description="Upper end.")
    ap: float | None = Field(description="Average precision of the ranking of parts.")
    ap_low: float | None = Field(description="Lower end of its 95% interval.")
    ap_high: float | None = Field(description="Upper end.")
    base: float | None = Field(description="Share of the parts that decide: precision by chance.")
    base_low: float | None = Field(description="Lower end of its 95% interval.")
    base_high: float | None = Field(description="Upper end.")
    images: int


class Parts(Answer):
    """How well maps find the parts that are known to decide."""

    lines: tuple[PartsLine, ...]
    note: str


class CorrectnessLine(Answer):
    """A method's scores on images that the model gets right and wrong."""

    model: str
    method: str
    group: str
    target: str
    layer: int | str | None
    right: float | None = Field(description="Mean score where the label is predicted.")
    wrong: float | None = Field(description="Mean score where it is not.")
    difference: float | None = Field(description="right − wrong")
    low: float | None
    high: float | None
    adjusted: float | None = Field(
        description="The difference between images of the same annotated area and confidence."
    )
    adjusted_low: float | None = Field(description="Lower end of its 95% interval.")
    adjusted_high: float | None = Field(description="Upper end.")
    reason: str = Field(default="", description="Why there is no difference; empty: there is one.")
    right_images: int = Field(description="Images that the model gets right.")
    wrong_images: int = Field(description="Images that it gets wrong.")


class AccuracyLine(Answer):
    """A method: the accuracy of its model and the score of its maps, on the same images."""

    model: str
    method: str
    group: str
    target: str
    layer: int | str | None
    accuracy: float | None = Field(description="Share of the images whose label is predicted.")
    accuracy_low: float | None = Field(description="Lower end of its 95% interval.")
    accuracy_high: float | None = Field(description="Upper end.")
    value: float | None = Field(description="Mean score.")
    low: float | None
    high: float | None
    images: int
    reason: str = Field(description='Why an interval is null; else "".')


class ClassLine(Answer):
    """A class of images: how often the model is right, and how its maps score."""

    model: str
    method: str
    group: str
    target: str
    layer: int | str | None
    label: str = Field(description="Of the images.")
    accuracy: float | None = Field(description="Share of its images whose label is predicted.")
    value: float | None
    images: int


class Correctness(Answer):
    """Whether maps score better where the model is right."""

    metric: str
    lines: tuple[CorrectnessLine, ...]
    models: tuple[AccuracyLine, ...] = Field(
        description="A point per model and method: score against accuracy."
    )
    classes: tuple[ClassLine, ...]
    note: str
    warnings: tuple[str, ...]


class AgreementLine(Answer):
    """One of those whose maps are compared."""

    name: str
    model: str
    method: str
    group: str
    target: str
    layer: int | str | None


class AgreementMatrix(Answer):
    """How much the maps of methods agree, image by image."""

    lines: tuple[AgreementLine, ...] = Field(
        description="So ordered that those that agree stand together."
    )
    values: tuple[tuple[float | None, ...], ...] = Field(
        description="Rank correlations, means over images."
    )
    low: tuple[tuple[float | None, ...], ...] = Field(description="Lower ends of 95% intervals.")
    high: tuple[tuple[float | None, ...], ...] = Field(description="Upper ends.")
    counts: tuple[tuple[int, ...], ...] = Field(description="Images of each mean.")
    images: int
    note: str


class FailureImage(Answer):
    """An image on which a method scores badly, and what is peculiar about it."""

    image: str
    value: float | None
    chance: float | None
    reasons: tuple[str, ...] = Field(description="What may have to do with it; no proof.")


class FailureReason(Answer):
    """How much more often a peculiarity is found among the worst images than among the others."""

    reason: str = Field(description="In words.", examples=["small area"])
    worst: float | None = Field(description="Share of the worst images that have it.")
    rest: float | None = Field(description="Share of the others.")
    difference: float | None = Field(description="worst − rest")
    low: float | None
    high: float | None
    p: float | None = Field(description="Fisher's exact test, two-sided.")
    p_holm: float | None = Field(description="The same, corrected by Holm for all reasons.")


class Failures(Answer):
    """The worst images of one method, and what goes with being among them."""

    choice: Choice
    metric: str
    items: tuple[FailureImage, ...]
    reasons: tuple[FailureReason, ...] = Field(description="Peculiarities, the smallest p first.")
    note: str


class LayerChange(Answer):
    """How much the maps of one layer and the next agree."""

    layer: int
    next: int = Field(description="The layer that it is compared with.")
    spearman: float | None = Field(description="Rank correlation, mean over images.")
    low: float | None
    high: float | None
    images: int


class LayerChangesLine(Answer):
    """A method's maps from layer to layer."""

    model: str
    method: str
    group: str
    target: str
    points: tuple[LayerChange, ...]


class LayerChanges(Answer):
    """How maps change from layer to layer."""

    lines: tuple[LayerChangesLine, ...]
    note: str


class BackgroundLine(Answer):
    """Whether the maps of one model lie more on the background than those of another."""

    method: str
    target: str
    layer_one: int | str | None = Field(description="Layer of the first model's maps.")
    layer_other: int | str | None = Field(description="Layer of the second model's.")
    share_one: float | None = Field(
        description="Share of the first model's maps outside all regions; mean over images."
    )
    share_other: float | None = Field(description="Of the second model's.")
    difference: float | None = Field(description="share_one − share_other, paired by image.")
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    images: int


class Background(Answer):
    """Two models' maps: which lie more on the background."""

    one: str = Field(description="Full name of the first model.")
    other: str = Field(description="Full name of the second.")
    lines: tuple[BackgroundLine, ...]
    note: str
    warnings: tuple[str, ...]


class PrototypeBenchmarkSummary(Answer):
    """A stored benchmark of prototypes, in a line."""

    name: str = Field(description="Of the benchmark.", examples=["demo"])
    model: str
    data: str = Field(description="The images in words.")
    score: Literal["similarity", "class_logit"] = Field(
        description="What perturbations change: the similarity to a prototype, or a class's logit."
    )
    images: int = Field(description="In the data; a stride may have taken fewer.")
    prototypes: int = Field(description="That the model uses; classes where their logit counts.")
    covered: int | None = Field(
        description="Prototypes that some image is most similar to; null: not analysed."
    )
    accuracy: Figure = Field(description="How often the model is right on the images analysed.")


class PrototypeList(Answer):
    """Benchmarks of prototypes that are stored."""

    benchmarks: tuple[PrototypeBenchmarkSummary, ...] = Field(description="A line for each.")


class PrototypeRelevance(Answer):
    """How much of attributions lies on the object, in the mean."""

    kind: Literal["prototype", "patch"] = Field(
        description="Where prototypes were taken from, or what images have in common with them."
    )
    measure: Literal["energy_relevance", "mask_relevance"] = Field(
        description="Share of the whole attribution, or of the most relevant pixels."
    )
    value: float | None
    low: float | None
    high: float | None
    chance: float | None = Field(description="Mean share of the images that the object takes.")
    difference: float | None = Field(description="Mean of relevance minus chance.")
    difference_low: float | None = Field(description="Lower end of its 95% interval.")
    difference_high: float | None = Field(description="Upper end of its 95% interval.")
    n: int = Field(description="Prototypes or patches that count.")
    undefined: int = Field(description="Those that do not.")
    undefined_fraction: float | None = Field(description="Fraction of those that do not.")
    reasons: str = Field(description="Why they do not, each reason with their number.")
    images: int
    values: tuple[float | None, ...] = Field(description="Of each prototype or patch.")
    sentence: str


class PrototypeEffect(Answer):
    """What a perturbation does to the score of a prototype, or of all."""

    prototype: int | None = Field(description="Its number; null: all of them.")
    perturbation: str = Field(description="Its name.")
    images: int
    undefined: int = Field(description="Rows without a drop: the score was 0 or less.")
    focused: float | None = Field(description="Mean drop where the attribution is high.")
    focused_low: float | None = Field(description="Lower end of its 95% interval.")
    focused_high: float | None = Field(description="Upper end of its 95% interval.")
    dual: float | None = Field(description="Mean drop where it is low; null: not asked for.")
    dual_low: float | None = Field(description="Lower end of its 95% interval.")
    dual_high: float | None = Field(description="Upper end of its 95% interval.")
    whole: float | None = Field(description="Mean drop of images changed all over, if asked for.")
    difference: float | None = Field(description="Mean of focused minus dual drop.")
    difference_low: float | None = Field(description="Lower end of its 95% interval.")
    difference_high: float | None = Field(description="Upper end of its 95% interval.")
    matters: bool | None = Field(
        description="Whether the interval of the difference lies above 0; null: too few images."
    )
    p: float | None = Field(description="Of the sign-flip test of the difference.")
    p_holm: float | None


class PrototypePremise(Answer):
    """How often changing what the attribution shows costs more than changing all else."""

    rows: int = Field(description="Pairs of image and prototype, times perturbations.")
    images: int
    share: float | None = Field(description="Of the rows, in how many the focused drop is larger.")
    share_low: float | None = Field(description="Lower end of its 95% interval.")
    share_high: float | None = Field(description="Upper end of its 95% interval.")
    equal: float | None = Field(description="Share of the rows where both are equal.")
    prototypes: int = Field(description="With such rows.")
    prototype_share: float | None = Field(
        description="Of these, how many have a larger mean focused drop."
    )
    difference: float | None = Field(description="Mean of focused minus dual drop.")
    difference_low: float | None = Field(description="Lower end of its 95% interval.")
    difference_high: float | None = Field(description="Upper end of its 95% interval.")
    sentence: str


class PrototypeNatures(Answer):
    """What the similarity to prototypes is made of, counted."""

    matter: dict[str, int] = Field(
        description="By perturbation: to how many prototypes it matters."
    )
    unknown: int = Field(description="Prototypes to which none matters.")
    undecided: int = Field(description="Prototypes with too few images to say.")
    uncovered: int = Field(description="Prototypes that no image is most similar to.")
    sentence: str


class PerturbationStep(Answer):
    """One change of an image."""

    type: str = Field(
        max_length=40, description="Type, as `offered` lists them.", examples=["brightness"]
    )
    params: dict[str, float | str] = Field(
        default_factory=dict,
        description="Parameters by name; those not given have their defaults.",
        examples=[{"factor": 0.3}],
    )


class BenchmarkPerturbation(Answer):
    """A perturbation of a benchmark."""

    name: str
    description: str = Field(description="What is done, in words.")
    steps: tuple[PerturbationStep, ...] = Field(description="Done one after the other.")


class PerturbationParam(Answer):
    """A parameter of a perturbation, as a slider or a choice offers it."""

    name: str
    default: float | str = Field(description="The usual value.")
    neutral: float | None = Field(description="With which nothing changes; null: none.")
    low: float | None = Field(description="Least value that is taken; null: it is a word.")
    high: float | None = Field(description="Greatest value that is taken; null: it is a word.")
    step: float = Field(description="Of a slider.")
    choices: tuple[str, ...] = Field(description="The words; none: it is a number.")


class PerturbationType(Answer):
    """A type of perturbation."""

    type: str = Field(description="Its name.")
    about: str = Field(description="What it does, exactly.")
    citation: str = Field(description="Where it is from.")
    params: tuple[PerturbationParam, ...] = Field(description="What can be chosen.")


class AttributionInfo(Answer):
    """A way to say which pixels make an image similar to a prototype."""

    name: str
    what: str = Field(description="What it shows.")
    citation: str = Field(description="Where it comes from.")
    control: bool = Field(description="Whether it knows nothing of the model.")


class PrototypeBenchmark(Answer):
    """What a benchmark of prototypes found."""

    name: str = Field(description="Of the benchmark.")
    model: str
    data: str = Field(description="The images in words.")
    score: Literal["similarity", "class_logit"] = Field(
        description="What perturbations change: the similarity to a prototype, or a class's logit."
    )
    attribution: str = Field(description="How it was said which pixels count.")
    images: int = Field(description="In the data; a stride may have taken fewer.")
    prototypes: int = Field(description="That the model uses; classes where their logit counts.")
    accuracy: Figure = Field(description="How often the model is right on the images analysed.")
    relevance: tuple[PrototypeRelevance, ...] = Field(
        description="Of prototypes and patches; none: not analysed."
    )
    perturbations: tuple[BenchmarkPerturbation, ...] = Field(
        description="That were analysed; none: not analysed."
    )
    effects: tuple[PrototypeEffect, ...] = Field(
        description="Of each perturbation over all prototypes."
    )
    natures: PrototypeNatures | None = Field(description="Null: not analysed.")
    premise: PrototypePremise | None = Field(description="Null: no dual copies were analysed.")
    cautions: tuple[str, ...] = Field(description="What must be kept in mind, in sentences.")
    image_ids: tuple[str, ...] = Field(description="Images that are analysed, in order.")
    offered: tuple[PerturbationType, ...] = Field(description="What the live route can do.")
    attributions: tuple[AttributionInfo, ...] = Field(
        description="How the live route can say which pixels count."
    )
    note: str


class PrototypeWeight(Answer):
    """What a prototype says for a class."""

    label: str = Field(description="The class.")
    weight: float = Field(description="By which its similarity is multiplied.")


class PrototypeSource(Answer):
    """Where a prototype was taken from."""

    image: str
    row: int = Field(description="Of the cell, from 0 at the top.")
    column: int = Field(description="Of the cell, from 0 at the left.")
    score: float | None = Field(description="Similarity of the cell to the prototype.")
    label: str | None = Field(description="Class of that image; null: not known.")


class PrototypeLine(Answer):
    """A prototype."""

    prototype: int = Field(description="Its number, from 0.")
    label: str | None = Field(description="The class that it says most for; null: not known.")
    weights: tuple[PrototypeWeight, ...] = Field(
        description="For each class; none where the model cannot be loaded."
    )
    source: PrototypeSource | None = Field(description="Null: not known.")
    mask_relevance: float | None = Field(
        description="Share of the most relevant pixels on the object."
    )
    energy_relevance: float | None = Field(description="Share of the attribution on the object.")
    energy_raw: float | None = Field(description="The same of the map before it was scaled.")
    chance: float | None = Field(description="Share of its image that the object takes.")
    nature: tuple[str, ...] | None = Field(
        description="Perturbations that matter, the strongest first; none: unknown; null: not "
        "decided."
    )
    told: str = Field(description="The nature in words.")
    images: int = Field(description="Images that were analysed with it.")
    drops: tuple[PrototypeEffect, ...] = Field(description="By perturbation.")


class PrototypeLines(Answer):
    """All prototypes of a benchmark."""

    name: str = Field(description="Of the benchmark.")
    perturbations: tuple[str, ...] = Field(description="Names, in the order of the benchmark.")
    lines: tuple[PrototypeLine, ...]
    note: str


class PrototypeDrop(Answer):
    """What a perturbation takes of one image's score."""

    perturbation: str = Field(description="Its name.")
    original: float | None = Field(description="The score before.")
    focused: float | None = Field(description="Drop where the attribution is high.")
    dual: float | None = Field(description="Drop where it is low; null: not asked for.")
    whole: float | None = Field(description="Drop of the image changed all over, if asked for.")


class PrototypeImage(Answer):
    """An image that was analysed with a prototype."""

    image: str
    row: int | None = Field(description="Of the cell; null: the score is of a class.")
    column: int | None = Field(description="Of the cell; null: the score is of a class.")
    score: float | None = Field(description="Similarity of the cell, or the logit.")
    label: str | None = Field(description="Its class; null: not known.")
    predicted: str | None
    mask_relevance: float | None = Field(description="Null: not analysed.")
    energy_relevance: float | None = Field(description="Null: not analysed.")
    chance: float | None = Field(description="Share of the image that the object takes.")
    reason: str | None = Field(description="Why a relevance is null; empty: none is.")
    drops: tuple[PrototypeDrop, ...] = Field(description="By perturbation.")


class PrototypeDetail(Answer):
    """A prototype with the images behind its numbers."""

    name: str = Field(description="Of the benchmark.")
    line: PrototypeLine = Field(description="The prototype.")
    images: tuple[PrototypeImage, ...] = Field(description="The most similar first.")
    note: str


class PrototypeMatch(Answer):
    """A prototype that an image is similar to."""

    prototype: int = Field(description="Its number.")
    label: str | None = Field(description="The class that it says most for.")
    score: float = Field(description="Similarity of the most similar cell.")
    row: int = Field(description="Of that cell, from 0 at the top.")
    column: int = Field(description="Of that cell, from 0 at the left.")
    box: tuple[float, float, float, float] = Field(
        description="The cell: x0, y0, x1, y1 as shares of what the network sees."
    )
    drops: tuple[PrototypeDrop, ...] = Field(description="Those that are stored, if any.")


class PrototypeMatches(Answer):
    """The prototypes that an image is most similar to."""

    name: str = Field(description="Of the benchmark.")
    image: str
    grid: tuple[int, int] = Field(description="Rows and columns of the cells.")
    lines: tuple[PrototypeMatch, ...]


Place = Annotated[int, Field(ge=0, le=10**6)]


class LiveAsked(Answer):
    """An image, a prototype, and what is to be changed."""

    image: str = Field(max_length=200, examples=["facade-00000.png"])
    prototype: int | None = Field(
        default=None, ge=0, le=10**6, description="Its number; the most similar unless given."
    )
    cell: tuple[Place, Place] | None = Field(
        default=None, description="Row and column; the most similar unless given."
    )
    steps: tuple[PerturbationStep, ...] = Field(
        min_length=1, max_length=12, description="Changes, done one after the other."
    )
    attribution: str | None = Field(
        default=None, max_length=40, description="Name; that of the benchmark unless given."
    )


class Live(Answer):
    """Similarities of an image and its changed copies, with their pictures."""

    image: str
    prototype: int = Field(description="Its number.")
    cell: tuple[int, int] = Field(description="Row and column that are compared.")
    grid: tuple[int, int] = Field(description="Rows and columns of the cells.")
    box: tuple[float, float, float, float] = Field(
        description="The cell: x0, y0, x1, y1 as shares of what the network sees."
    )
    relevant: tuple[float, float, float, float] = Field(
        description="Box around the most relevant tenth, which a distortion goes by."
    )
    attribution: str = Field(description="How it was said which pixels count.")
    description: str = Field(description="What was done, in words.")
    original: float | None = Field(description="Similarity before.")
    focused: float | None = Field(description="Similarity of the focused copy.")
    dual: float | None = Field(description="Similarity of the dual copy.")
    focused_drop: float | None = Field(
        description="Share of the similarity that is gone; null where it was 0 or less."
    )
    dual_drop: float | None = Field(description="The same of the dual copy.")
    original_png: str = Field(description="What the network sees: a data URL of a PNG file.")
    focused_png: str = Field(description="Changed where the attribution is high, likewise.")
    dual_png: str = Field(description="Changed where it is low, likewise.")
    sentence: str


for _model in (ImageModels, Exemplars, DetectionImages):
    _model.model_rebuild()

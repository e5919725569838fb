"""`Results`: what a study found, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from sightline.core import InputError
from sightline.core.checks import check_choice
from sightline.core.choices import By
from sightline.metrics import METRICS
from sightline.results import breakdowns, checks, comparison, curves, heads, images, leaderboard
from sightline.results._html import show_html, show_text
from sightline.results._sums import sum_up
from sightline.results._tables import Progress, Tables
from sightline.results.prototypes import StoredBenchmark, stored_benchmark
from sightline.store import open_store
from sightline.store.duckdb import SECONDS

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from types import TracebackType

    import pandas as pd
    import pyarrow as pa

    from sightline.core.choices import Layer
    from sightline.results._baseline import BaselineComparison
    from sightline.results._catalogue import Where

__all__ = ["Results", "open_results"]


def open_results(path: str | os.PathLike[str]) -> Results:
    """Open the results of a study, which may still be running.

    Parameters
    ----------
    path
        The folder that `sightline run` writes.

    Raises
    ------
    InputError
        If no study is stored there.
    """
    return Results(path)


class Results:
    """What a study found: tables out of its store.

    Scores are read where they lie; nothing is changed. Every table is a `DataFrame` whose
    ``attrs["note"]`` states in a line what must be known to read it; reasons against comparing
    its scores are in ``attrs["warnings"]``, too. Chance and ceiling are next to
    the scores, `n` counts what was averaged, and `undefined` what could not be.

    The unit is the image: its scores are averaged over the seeds of a method first, then over
    images. These words choose the same maps in every table that takes them:

    model
        A full name, ``"demo/vit@seed2"``, or a base, which stands for all its variants.
    method
        A name of a method.
    layer
        A number from 0; ``"best"`` on the same images, which is marked; ``"split"``: for each half
        of the images the layer that did best on the other half; ``"last"``. Maps of methods
        without layers stand beside any of them.
    head
        A number, or, in tables with a line for each, ``"all"``; fused heads by default.
    target
        What is explained. Maps that explain no class stand beside any target.
    seed
        A number; the mean over seeds by default. Maps that draw nothing stand beside any seed.
    metric
        ``"iou@90"``, ``"coverage"``: a name that the study computed.

    Tables about one choice of maps take the best that is no baseline where names are left out,
    and say so.

    Parameters
    ----------
    path
        The folder of the study.

    Attributes
    ----------
    path
        The folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._store = open_store(Path(path).resolve())
        self.path = self._store.path
        self._tables = Tables(self._store)

    def refresh(self) -> Results:
        """Look again at a store that is being written; return these results."""
        self._tables.close()
        self._tables = Tables(self._store)
        return self

    def close(self) -> None:
        """Let go of the files; the next table opens them again, in the state they were in."""
        self._tables.close()

    def __enter__(self) -> Results:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def manifest(self) -> dict[str, Any]:
        """What the store says of itself: data, models, methods, versions."""
        return self._tables.manifest

    @property
    def study(self) -> dict[str, Any]:
        """The study, with every choice written out."""
        study: dict[str, Any] = self.manifest["study"]
        return study

    @property
    def progress(self) -> Progress:
        """How many tasks are stored, and how many there are."""
        return self._tables.progress

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics that are stored, ``metric[@threshold]``."""
        return [str(name) for name in self._tables.names if name.metric in METRICS]

    @property
    def models(self) -> list[str]:
        """Full names of the models."""
        return self._tables.catalogue.models

    @property
    def methods(self) -> list[str]:
        """Names of the methods."""
        return self._tables.catalogue.methods

    def query(self, sql: str, *, seconds: float = SECONDS) -> pd.DataFrame:
        """Return what an SQL query finds; it can read the store and nothing else.

        Parameters
        ----------
        sql
            One SELECT, WITH, EXPLAIN, DESCRIBE, SHOW or SUMMARIZE statement in DuckDB's dialect
            over these views: `scores` (a row per map, a column per metric, with chance, ceiling,
            corrected IoU and curves), `region_scores` (a row per map and region), `scores_long` (a
            row per score), `leaderboard`, `checks`, `images`, `regions`.
        seconds
            That it may take; it is ended then.

        Raises
        ------
        InputError
            If it would write or reach for something else, takes too long or too much memory, or
            is not understood.
        """
        return self._tables.query(sql, seconds)

    def batches(
        self,
        view: Literal["scores", "region_scores", "scores_long", "images", "regions", "checks"],
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows of a view as Arrow batches, so that none needs to fit into memory."""
        return self._tables.batches(view)

    def scores(self, *, dtype_backend: Literal["numpy", "pyarrow"] = "numpy") -> pd.DataFrame:
        """Return the scores of all maps: a row per map and image, a column per metric.

        Parameters
        ----------
        dtype_backend
            ``"numpy"``: NaN where a score is undefined and where it was not computed.
            ``"pyarrow"`` keeps the two apart: NaN is undefined, null was not computed.

        Returns
        -------
        DataFrame
            image, model (a full name), variant, method, target, layer, head, seed, rules,
            annotated_fraction, visible_fraction, pixels, undefined (what leaves scores of the row
            undefined, as "empty annotation"), then the scores, ``metric[@threshold]``.
        """
        return self._wide_frame("scores", dtype_backend)

    def region_scores(
        self, *, dtype_backend: Literal["numpy", "pyarrow"] = "numpy"
    ) -> pd.DataFrame:
        """Return the scores of single regions: as `scores`, a row per map and region."""
        return self._wide_frame("region_scores", dtype_backend)

    def _wide_frame(self, table: str, dtype_backend: str) -> pd.DataFrame:
        check_choice("dtype_backend", dtype_backend, ("numpy", "pyarrow"))
        return self._tables.wide_frame(table, dtype_backend)

    def count_scores(self) -> int:
        """Return how many scores of maps and of their regions are stored."""
        return self._tables.count_scores()

    def leaderboard(
        self,
        metric: str | None = None,
        *,
        model: str | None = None,
        method: str | None = None,
        layer: Layer | Literal["all"] = "best",
        head: int | Literal["all"] | None = None,
        target: str | None = None,
        seed: int | None = None,
    ) -> pd.DataFrame:
        """Return a line for each model, method and target, the best first.

        Parameters
        ----------
        metric
            The first of iou@90, coverage, average_precision that the study computed, or what it
            computed first.
        model, layer, head, target, seed
            See `Results`; layer ``"all"`` gives each a line.
        method
            A name, or ``"best"`` or ``"split"``: a line for each model, whose method is chosen in
            that way together with the layer. Baselines keep their lines.

        Returns
        -------
        DataFrame
            rank (shared by equal scores), model, method, group, target, layer, head (where heads
            were asked for), value, low and high (its 95% interval, clustered by image), median,
            std (over images), chance, random (average precision only, where the number of pixels
            or cells is known: what a random ranking gets), ceiling, uniform (what a uniform map
            gets, of metrics that have no chance), corrected (IoU only: Σ(iou − chance) /
            Σ(ceiling − chance)), iou@… or coverage (recall and lift only, which are never read
            alone), n, undefined, chosen (how the layer or method was). The value of iou_corrected
            is that ratio of sums, too, and median and std are of its images.
            ``attrs["best_baseline"]`` compares the best line with the best baseline of the run: the
            fields of `BaselineComparison`, and its sentence.
        """
        tables = self._tables
        pooled = method if method in ("best", "split") else None
        name = tables.name(metric)
        where = self._where(model, None if pooled else method, layer, target, head=head, seed=seed)
        found = sum_up(tables, [name], where)[name]
        frame = leaderboard.leaderboard(tables, name, where, layer, pooled, found)
        return _add_best_baseline(
            frame, comparison.compare_best(tables, name, where, layer, pooled, found)
        )

    def compare_best(
        self,
        metric: str | None = None,
        *,
        model: str | None = None,
        method: str | None = None,
        layer: Layer = "best",
        head: int | Literal["all"] | None = None,
        target: str | None = None,
        seed: int | None = None,
    ) -> BaselineComparison | None:
        """Compare the best configuration with the best baseline of the run, paired by image.

        Parameters
        ----------
        metric, model, method, layer, head, target, seed
            See `leaderboard`. The baselines are those of the models chosen or, where these have
            none, of the run, whatever methods and heads are chosen.

        Returns
        -------
        BaselineComparison or None
            None where no value of the metric is better than another, or nothing is scored.
        """
        pooled = method if method in ("best", "split") else None
        name = self._tables.name(metric)
        where = self._where(model, None if pooled else method, layer, target, head=head, seed=seed)
        return comparison.compare_best(self._tables, name, where, layer, pooled)

    def layer_progression(
        self,
        metric: str | None = None,
        *,
        model: str | None = None,
        method: str | None = None,
        target: str | None = None,
        head: int | Literal["all"] | None = None,
        seed: int | None = None,
    ) -> pd.DataFrame:
        """Return a line for each model, method, target and layer, in that order.

        Methods without layers have one line, whose layer is missing.

        Returns
        -------
        DataFrame
            model, method, group, target, layer, value, low, high, chance, ceiling, n, undefined;
            of recall and lift also iou@… or coverage. ``attrs["best_baseline"]``: see
            `leaderboard`.
        """
        tables, name = self._tables, self._tables.name(metric)
        where = self._where(model, method, None, target, head=head, seed=seed)
        found = sum_up(tables, [name], where)[name]
        frame = leaderboard.layer_progression(tables, name, where, found)
        return _add_best_baseline(
            frame, comparison.compare_best(tables, name, where, "best", None, found)
        )

    def percentile_sweep(
        self,
        metric: str = "iou",
        *,
        model: str | None = None,
        method: str | None = None,
        layer: Layer | None = None,
        target: str | None = None,
        head: int | None = None,
        seed: int | None = None,
    ) -> pd.DataFrame:
        """Return a line for each model, method, target and percentile.

        Parameters
        ----------
        metric
            One with percentiles, without the part behind the @.
        model, method, layer, target, head, seed
            See `Results`. The layer is one and the same for all percentiles: that which the
            leaderboard of percentile 90 shows.

        Returns
        -------
        DataFrame
            model, method, group, target, layer, percentile, value, low, high, chance, ceiling,
            selected (the share of pixels), n, undefined, chosen; of recall and lift also iou or
            coverage.
        """
        where = self._where(model, method, layer, target, head=head, seed=seed)
        return leaderboard.percentile_sweep(self._tables, metric, where, layer)

    def feature_breakdown(
        self,
        *,
        model: str | None = None,
        method: str | None = None,
        layer: Layer | None = None,
        target: str | None = None,
        head: int | None = None,
        seed: int | None = None,
        percentile: float | str | None = None,
        ancestors: bool = False,
    ) -> pd.DataFrame:
        """Return a line for each label of regions: how well single regions are found.

        Means are over regions, not over images: `n` counts regions with a defined score, `images`
        those that they are on. Regions of one image are not independent of each other: intervals
        take the images, each with all its regions, as drawn at random.

        Parameters
        ----------
        model, method, layer, target, head, seed
            See `Results`.
        percentile
            Threshold of IoU and recall, or ``"mass60"``, ``"mean"``, ``"matched"``; 90 unless
            given or, where the study did not compute it, the highest that it did, which is noted.
        ancestors
            Add lines for the labels above; each counts the regions of all labels below it.

        Returns
        -------
        DataFrame
            label, iou, low, high, median, std (over regions), chance, ceiling, then recall,
            recall_low, recall_high, recall_median, recall_std, recall_chance, the same of pointing
            and of coverage, n, images, undefined. Columns of metrics that the study did not
            compute are NaN.
        """
        where = self._where(model, method, layer, target, head=head, seed=seed)
        return breakdowns.feature_breakdown(
            self._tables, where, layer, percentile, ancestors=ancestors
        )

    def style_breakdown(
        self,
        metric: str | None = None,
        *,
        model: str | None = None,
        method: str | None = None,
        layer: Layer | None = None,
        target: str | None = None,
        head: int | None = None,
        seed: int | None = None,
    ) -> pd.DataFrame:
        """Return a line for each label of images; an image with two labels counts in both.

        Returns
        -------
        DataFrame
            label, value, low, high, median, std, chance, ceiling, n, undefined.
        """
        where = self._where(model, method, layer, target, head=head, seed=seed)
        name = self._tables.name(metric)
        return breakdowns.style_breakdown(self._tables, name, where, layer)

    def head_ranking(
        self,
        metric: str | None = None,
        *,
        model: str,
        method: str,
        layer: int | None = None,
        target: str | None = None,
    ) -> pd.DataFrame:
        """Return a line for each head of one model, the best first, of all layers or of one.

        Returns
        -------
        DataFrame
            layer, head, value, low, high, chance, ceiling, n, undefined, rank (shared by equal
            scores).
        """
        where = self._where(model, method, layer, target, head="all")
        return heads.head_ranking(self._tables, self._tables.name(metric), where)

    def head_feature_matrix(
        self,
        metric: str | None = None,
        *,
        model: str,
        method: str,
        layer: int | None = None,
        target: str | None = None,
    ) -> pd.DataFrame:
        """Return the heads of one model by labels of regions: which head looks at what.

        Returns
        -------
        DataFrame
            A line for each layer and head, a column for each label, means over regions;
            ``attrs["n"]`` says over how many.
        """
        where = self._where(model, method, layer, target, head="all")
        name = self._tables.name(metric, regions=True)
        return heads.head_feature_matrix(self._tables, name, where)

    def exemplars(
        self,
        metric: str | None = None,
        *,
        model: str | None = None,
        method: str | None = None,
        layer: Layer | None = None,
        target: str | None = None,
        head: int | None = None,
        seed: int | None = None,
        label: str | None = None,
        limit: int = 12,
    ) -> pd.DataFrame:
        """Return the images, or the regions of one label, on which maps do best.

        Parameters
        ----------
        metric
            See `leaderboard`; with a label, one that single regions have.
        model, method, layer, target, head, seed
            See `Results`.
        label
            Of regions, or a label above theirs: these are listed in place of images.
        limit
            How many at most.

        Returns
        -------
        DataFrame
            image, region (missing where images are listed), value, chance, ceiling; the best
            first, without those that have no score.
        """
        where = self._where(model, method, layer, target, head=head, seed=seed)
        name = self._tables.name(metric, regions=label is not None)
        return heads.exemplars(self._tables, name, where, layer, label, limit)

    def compare(
        self,
        a: str | int,
        b: str | int,
        metric: str | None = None,
        *,
        by: By = "model",
        model: str | None = None,
        method: str | None = None,
        layer: Layer = "best",
        target: str | None = None,
        head: int | None = None,
        seed: int | None = None,
    ) -> pd.DataFrame:
        """Compare two models, methods or layers, image by image.

        Parameters
        ----------
        a, b
            Names of two models or, with ``by="method"``, of two methods; or, with ``by="layer"``,
            the numbers of two layers.
        metric
            See `leaderboard`.
        by
            What is compared. There is a line for each method, or model, or both, that a and b have
            in common.
        model, method
            Only this model, only this method, unless they are what is compared.
        layer, target, head, seed
            See `Results`; a layer is chosen for a and b each on its own.

        Returns
        -------
        DataFrame
            a, b, model, method, target, layer_a, layer_b, n (images where both are defined),
            value_a, value_b, chance_a, chance_b, ceiling_a, ceiling_b (over all images of that
            side), difference (a − b), low and high (its 95% interval), p (two-sided, sign-flip: a
            and b exchangeable on every image), p_holm, p_bh, p_max_t (corrected for
            all lines of the table, by Holm, by Benjamini and Hochberg, by the largest studentised
            difference), p_wilcoxon, dz, rank_biserial (effect sizes), better, equal, worse (shares
            of images, seen from a), only_a and only_b (images with a defined score on one side
            only), chosen_a, chosen_b (how layers were). p-values are NaN below 6 images; lines
            that are equal on every image do not count as comparisons. The note names maps that are
            stored for one of the two only. ``attrs["sentences"]`` says what each line means,
            ``attrs["summary"]`` what all of them do, and how the better side of the main one
            compares with the best baseline of the run (``attrs["best_baseline"]``, see
            `leaderboard`).
        """
        if by not in get_args(By):
            raise InputError(f"by must be 'model', 'method' or 'layer'; got {by!r}")
        fixed = {"model": model, "method": method, "layer": None if layer == "best" else layer}
        if fixed[by] is not None:
            raise InputError(f"{by} is what is compared: it cannot be given as well")
        name = self._tables.name(metric)
        given = {"model": model, "method": method, "layer": layer}
        words = {"target": target, "head": head, "seed": seed}
        first, second = (self._side(by, side, given | words) for side in (a, b))
        return comparison.compare(self._tables, name, (first, second), layer, by)

    def _side(self, by: str, side: str | int, words: dict[str, Any]) -> Where:
        """Check the words that choose one side of a comparison."""
        if by == "layer" and not isinstance(side, int):
            raise InputError(f"a and b must be numbers of layers where by is 'layer'; got {side!r}")
        return self._tables.catalogue.where(**words | {by: side})

    def images(
        self,
        sort_by: str | None = None,
        *,
        ascending: bool = False,
        model: str | None = None,
        method: str | None = None,
        layer: Layer | None = None,
        target: str | None = None,
        head: int | None = None,
        seed: int | None = None,
        label: str | None = None,
        split: str | None = None,
        limit: int | None = None,
    ) -> pd.DataFrame:
        """Return a line for each image, sorted.

        Parameters
        ----------
        sort_by
            A metric (see `leaderboard`), or image, area, regions, split. Images whose score is
            undefined come last.
        ascending
            Smallest first.
        model, method, layer, target, head, seed
            See `Results`.
        label
            Only images with this label, or with a region of this label.
        split
            Only images of this part of the data set.
        limit
            How many at most.

        Returns
        -------
        DataFrame
            image, value, chance, ceiling, area (annotated share), regions (how many), labels,
            split.
        """
        where = self._where(model, method, layer, target, head=head, seed=seed)
        wanted = images.Filter(sort_by, ascending, label, split, limit)
        return images.table_of_images(self._tables, where, layer, wanted)

    def image(self, image_id: str) -> pd.DataFrame:
        """Return all scores of one image, a line each, with chance and ceiling.

        Returns
        -------
        DataFrame
            The columns of the view `scores_long`, and `undefined`: why a score is NaN.
        """
        return images.one_image(self._tables, image_id)

    def curves(
        self,
        kind: Literal["roc", "pr"] = "roc",
        *,
        model: str | None = None,
        method: str | None = None,
        layer: Layer | None = None,
        target: str | None = None,
        head: int | None = None,
        seed: int | None = None,
    ) -> pd.DataFrame:
        """Return the mean of the images' ROC or precision–recall curves.

        Returns
        -------
        DataFrame
            point (0 to 100), x (false positive rate or recall), value (mean true positive rate or
            precision), n, undefined.
        """
        where = self._where(model, method, layer, target, head=head, seed=seed)
        return curves.mean_curve(self._tables, kind, where, layer)

    def checks(
        self,
        check: str | None = None,
        *,
        model: str | None = None,
        method: str | None = None,
        measure: str | None = None,
    ) -> pd.DataFrame:
        """Return what the checks of the maps found, a line for each number.

        Parameters
        ----------
        check
            Only "randomisation", "reference", "faithfulness" or "parts".
        model, method
            Only of this model (a full name), only of this method.
        measure
            Only this measure: "spearman", "deletion", …

        Returns
        -------
        DataFrame
            model, method, group, target, layer, seed (of the method), check (its name), way (of
            randomising: "full", …; of a reference: "cross", "edge", "training", "trained"), redraw
            (the seed that the network was drawn with, or the number of the other image), stage
            (from 0), stage_name (or the variant of another training), measure, point (share of the
            pixels changed, of curves), image, value. Empty where no check is stored.
        """
        return checks.checks_table(self._tables, check, model, method, measure)

    def prototypes(self, name: str | None = None) -> StoredBenchmark:
        """Return a benchmark of prototypes of this store: tables, effects, natures, premise.

        Parameters
        ----------
        name
            Of the benchmark; the only one unless given.
        """
        return stored_benchmark(self.path, name)

    def _where(
        self,
        model: str | None,
        method: str | None,
        layer: int | str | None,
        target: str | None,
        *,
        head: int | str | None = None,
        seed: int | None = None,
    ) -> Where:
        """Check the words that choose maps."""
        return self._tables.catalogue.where(
            model=model, method=method, layer=layer, head=head, target=target, seed=seed
        )

    def __repr__(self) -> str:
        return show_text(self)

    def _repr_html_(self) -> str:
        return show_html(self)


def _add_best_baseline(frame: pd.DataFrame, best: BaselineComparison | None) -> pd.DataFrame:
    """Put the best configuration against the best baseline into a table's attributes."""
    frame.attrs["best_baseline"] = None if best is None else best.to_dict()
    return frame

"""The methods section: what was computed, with formulas and citations, as HTML and as LaTeX.

Texts hold citations as ``[@key]`` and formulas as ``{{...}}``, which both forms set in their way.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core.words import counted
from sightline.metrics import METRICS
from sightline.report.references import CITED_BY_METHODS, CITED_BY_METRICS, REFERENCES
from sightline.report.tables import tex
from sightline.results._views import full_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sightline.report.scores import Scored
    from sightline.results import Results

__all__ = ["MethodsText", "methods_text"]

_CITE = re.compile(r"\[@([\w,]+)\]")
_PART = re.compile(r"\[@[\w,]+\]|\{\{.*?\}\}")
_FORMULAS = {
    "coverage": "Σ A·G / Σ A",
    "iou": "|S ∩ G| / |S ∪ G|",
    "dice": "2·|S ∩ G| / (|S| + |G|)",
    "precision": "|S ∩ G| / |S|",
    "recall": "|S ∩ G| / |G|",
    "lift": "recall / a",
    "pointing": "share of argmax A in G",
    "top_k_pointing": "|top k ∩ G| / k",
    "auc_roc": "Pr(A(p) > A(q)) + ½·Pr(A(p) = A(q)), p in G, q outside",
    "average_precision": "Σ (rᵢ − rᵢ₋₁)·pᵢ",
    "relevance_rank": "|top P ∩ G| / P",
    "nss": "mean of (A − mean A) / std A over G",
    "iou_share": "IoU / ceiling",
    "iou_corrected": "(IoU − chance) / (ceiling − chance)",
}
_WHERE = {
    "average_precision": " with precision {{pᵢ}} and recall {{rᵢ}} at the i-th threshold",
}


class MethodsText(NamedTuple):
    """The methods section.

    Attributes
    ----------
    parts
        Heading, paragraph and, where there are, items of each part.
    cited
        Keys of the works that it cites, in the order of citation.
    """

    parts: tuple[tuple[str, str, tuple[str, ...]], ...]
    cited: tuple[str, ...]

    def html(self) -> str:
        """Return the section as HTML; citations are numbers that lead to the list below."""
        found = []
        for head, text, items in self.parts:
            found.append(f"<h3>{escape(head)}</h3>\n<p>{_set(text, self._html_part)}</p>")
            if items:
                points = (f"<li>{_set(one, self._html_part)}</li>" for one in items)
                found.append(f"<ul>\n{chr(10).join(points)}\n</ul>")
        return "\n".join(found)

    def references_html(self) -> str:
        """Return the list of works as HTML."""
        items = (f'<li id="ref-{key}">{escape(REFERENCES[key].text)}</li>' for key in self.cited)
        return f'<ol class="references">\n{chr(10).join(items)}\n</ol>'

    def latex(self) -> str:
        """Return the section as LaTeX, for the works in references.bib."""
        parts = []
        for head, text, items in self.parts:
            whole = text + (f" {'; '.join(items)}." if items else "")
            parts.append(f"\\paragraph{{{tex(head)}.}}\n{_set(whole, _tex_part, tex)}\n")
        begin = "% Needs \\usepackage{amsmath}; cites the works in references.bib."
        return "\n".join([begin, *parts]).replace(" ~\\cite", "~\\cite")

    def _html_part(self, part: str) -> str:
        if part.startswith("{{"):
            return f'<span class="formula">{escape(part[2:-2])}</span>'
        links = (
            f'<a href="#ref-{key}">{self.cited.index(key) + 1}</a>' for key in part[2:-1].split(",")
        )
        return f"[{', '.join(links)}]"


def _set(text: str, special: Any, plain: Any = escape) -> str:
    """Set citations and formulas in their way, the rest in another."""
    found, end = [], 0
    for match in _PART.finditer(text):
        found += [plain(text[end : match.start()]), special(match[0])]
        end = match.end()
    return "".join([*found, plain(text[end:])])


def _tex_part(part: str) -> str:
    if not part.startswith("{{"):
        return f"~\\cite{{{part[2:-1]}}}"
    text = part[2:-2]
    for sign, written in _TEX_SIGNS.items():
        text = text.replace(sign, written)
    words = re.sub(r"(?<![§A-Za-z])[A-Za-z]{2,}(?: [a-z]+)*", _tex_words, text)
    return f"${words.replace('§', chr(92))}$"


_TEX_SIGNS = {
    "Σ": "§sum ", "·": "§cdot ", "∩": "§cap ", "∪": "§cup ", "−": "-", "½": "§tfrac12 ",
    "ᵢ₋₁": "_{i-1}", "ᵢ": "_i", "≥": "§geq ", "≤": "§leq ",
}  # fmt: skip


def _tex_words(match: re.Match[str]) -> str:
    return rf"\{match[0]}" if match[0] in ("min", "max") else rf"\text{{ {match[0]} }}"


def methods_text(
    results: Results,
    scored: Scored,
    *,
    detection: bool = False,
    predictions: bool = False,
    prototypes: bool = False,
) -> MethodsText:
    """Write the methods section of a store.

    Parameters
    ----------
    results, scored
        The store, and the means of its lines.
    detection
        Whether evaluations of detections are shown.
    predictions
        Whether predictions of classifiers are.
    prototypes
        Whether benchmarks of prototypes are.
    """
    parts: list[tuple[str, str, tuple[str, ...]]] = [
        ("Data", _data(results), ()),
        ("Models and maps", _maps(results), ()),
        ("Scoring", _scoring(results, scored.metrics), ()),
        ("Metrics", _LETTERS, _metrics(scored)),
        ("Statistics", _statistics(scored), ()),
    ]
    parts += _checks(results)
    if predictions:
        parts.append(("Predictions", _PREDICTIONS, ()))
    if prototypes:
        parts.append(("Prototypes", _PROTOTYPES, ()))
    if detection:
        parts.append(("Detection", _DETECTION, ()))
    text = " ".join(" ".join([text, *items]) for _, text, items in parts)
    keys = [key for match in _CITE.finditer(text) for key in match[1].split(",")]
    return MethodsText(tuple(parts), tuple(dict.fromkeys(keys)))


def _data(results: Results) -> str:
    data, about = results.study["data"], results.manifest["data"]
    count = f"{counted(int(about['images']), 'image')} with "
    count += counted(int(about["regions"]), "annotated region")
    text = f"The data set is {data['name']}: {count}"
    if data.get("split"):
        text += f", split {data['split']}"
    text += f" (digest {str(about['digest'])[:12]})."
    how = {
        "exhaustive": " Every instance of a part is labelled.",
        "representative": " Of each kind of part one instance is labelled, drawn at random.",
        "salient": " Of each kind of part the most salient instance is labelled.",
    }
    reviewed = {
        "completed": " Labels were completed by people, who decided on what a machine proposed.",
        "gold": " Every instance was labelled by people, without a machine's help.",
    }
    return text + (reviewed | how).get(_labels(results), "")


def _labels(results: Results) -> str:
    """Return what the labels are: those of a review, or as the data set has them."""
    found = (results.manifest["data"].get("review") or {}).get("which")
    return str(found or results.study["data"].get("labelling"))


def _maps(results: Results) -> str:
    models, methods = results.models, list(dict.fromkeys(results.methods))
    layers = {full_name(one): one for one in results.manifest["models"]}
    told = [
        f"{name} ({layers[name]['layers']} layers, weights {layers[name]['digest'][:8]}, fit "
        f"{layers[name]['fit']})"
        if name in layers
        else name
        for name in models
    ]
    text = f"{counted(len(models), 'model')}: {_listed(told)}. " if any(models) else ""
    groups = {str(one["method"]): str(one["group"]) for one in results.manifest["sources"]}
    grey = [name for name in methods if groups.get(name) == "baseline"]
    named = [_method(name, results) for name in methods if name not in grey]
    text += f"Maps were made by {_listed(named)}."
    if grey:
        blind = [name for name in grey if name != "mean_map"]
        known = f"{_listed(blind)}, which know nothing of a model" if blind else ""
        mean = "mean_map, the mean of a model's maps of the other images" if blind != grey else ""
        text += f" Baselines: {'; '.join(filter(None, (known, mean)))}."
    layer = results.study.get("layers")
    if layer:
        text += f" Layers: {layer if isinstance(layer, str) else ', '.join(map(str, layer))}."
    return text


def _method(name: str, results: Results) -> str:
    keys = CITED_BY_METHODS.get(name)
    params: dict[str, Any] = next(
        (one["params"] for one in results.study["methods"] if one["name"] == name), {}
    )
    given = [f"{key} {value}" for key, value in params.items() if key not in ("maps", "model")]
    told = f" ({', '.join(given)})" if given else ""
    cite = f" [@{','.join(keys)}]" if keys else ""
    return f"{name}{told}{cite}"


_SIGNS = {
    "positive": "count as nothing",
    "absolute": "count as much as positive ones",
    "signed": "rank below zero",
}


def _scoring(results: Results, metrics: Iterable[str]) -> str:
    study = results.study
    at = {
        "pixels": "at the size of the images",
        "grid": "on the grid of the maps",
    }.get(str(study["resolution"]), f"with {study['resolution']} pixels on the longer side")
    signs: dict[str, dict[str, None]] = {}
    for one in results.manifest["sources"]:
        signs.setdefault(str(one.get("sign")), {})[str(one["method"])] = None
    told = [f"{_SIGNS.get(sign, sign)} ({', '.join(names)})" for sign, names in signs.items()]
    ties = {
        "share": "tied pixels share what is left of the area, so that exactly that share is "
        "selected and a constant map scores chance",
        "include": "all pixels at or above the quantile are selected, ties included",
    }[study["ties"]]
    text = (
        f"Maps were compared with the union of an image's regions {at}; regions and maps went "
        "through the same geometry, and what a model could not see was not scored. "
        f"Negative values {'; '.join(told)}."
    )
    thresholds = {metric.partition("@")[2] for metric in metrics} - {""}
    if any(one.replace(".", "").isdigit() for one in thresholds):
        text += f" Numbers behind an @ are percentiles: @90 selects the top 10% of pixels; {ties}."
    if masses := sorted(one for one in thresholds if one.startswith("mass")):
        text += f" {_at(masses)}: the fewest pixels that hold that percentage of the map's energy."
    if "mean" in thresholds:
        text += " @mean: the pixels above the map's mean."
    if "matched" in thresholds:
        text += " @matched: as many pixels as are annotated."
    return text


def _at(thresholds: Iterable[str]) -> str:
    return ", ".join(f"@{one}" for one in thresholds)


_LETTERS = (
    "Scores measure plausibility, not faithfulness [@jacovi2020]. A is the map, G the annotation "
    "(share g of the pixels), S the selected pixels (share a), P the number of annotated ones."
)


def _metrics(scored: Scored) -> tuple[str, ...]:
    names = dict.fromkeys(metric.partition("@")[0] for metric in scored.metrics)
    parts = []
    for name in names:
        spec = METRICS[name]
        formula = f": {{{{{_FORMULAS[name]}}}}}{_WHERE.get(name, '')}" if name in _FORMULAS else ""
        keys = CITED_BY_METRICS.get(name)
        cite = f" [@{','.join(keys)}]" if keys else ""
        beside = f"; chance {{{{{spec.chance}}}}}" if spec.chance is not None else ""
        if spec.ceiling is not None:
            beside += f", ceiling {{{{{spec.ceiling}}}}}"
        what = spec.meaning[0].lower() + spec.meaning[1:]
        parts.append(f"{name} ({what}){cite}{formula}{beside}")
    return tuple(parts)


def _statistics(scored: Scored) -> str:
    most = int(scored.table["n"].max())
    mean = (
        "BCa bootstrap intervals [@efron1987]"
        if most >= 50
        else "studentised bootstrap intervals [@efron1993]"
    )
    text = (
        "The unit is the image: scores are averaged over seeds first, then over images. Means have "
        f"95% {mean}, shares of hits Wilson's [@wilson1927]. Lines are compared image by image "
        "with two-sided sign-flip permutation tests [@fisher1935], 9,999 flips, corrected by "
        "Holm's method [@holm1979] where all lines are compared with a baseline, else not. The "
        "best line is also tested, one-sided, against the maps of other images on the same regions "
        "(maps exchanged between images of one geometry, 9,999 permutations)"
    )
    if scored.halves is None:
        return f"{text}."
    return (
        f"{text}. Tables and figures show the layer that did best on the same images, which "
        "flatters it, and mark it; for these tests, layers are chosen for each half of the images "
        "on the other half. That the best line was picked among several is not corrected for."
    )


_PREDICTIONS = (
    "Classifiers of the study were run on its images, and their most likely class was compared "
    "with the image's label. Whether maps differ on wrong predictions is a check in the spirit of "
    "[@adebayo2018], but no test of faithfulness: easy images are easy for maps as well."
)
_PROTOTYPES = (
    "Models compare images with prototypes [@chen2019]. Relevance is the share of a prototype's "
    "attribution {{Σ A·S / Σ A}} on what is annotated, and that of its top pixels, on the image "
    "that the prototype was taken from and on patches like it [@xudarme2023]; chance is the "
    "annotated share of the image. For what similarity is made of, images were perturbed "
    "[@nauta2021], where the attribution M is high {{M·P + (1 − M)·I}} and where it is low "
    "{{(1 − M)·P + M·I}}; the drop is the lost share of the similarity at the same place. A "
    "perturbation matters where the 95% interval of the difference of both drops, over images, "
    "lies above 0."
)
_DETECTION = (
    "Detections were matched with ground truth as the protocol named with each result says; the "
    "12 figures follow COCO [@lin2014]."
)


def _checks(results: Results) -> list[tuple[str, str, tuple[str, ...]]]:
    """Write what was done to models and images to see whether maps are about the model."""
    made = results.manifest.get("checks", ())
    parts: list[tuple[str, str, tuple[str, ...]]] = []
    drawn = [str(one["check"]).split("/") for one in made if one["part"] == "randomisation"]
    ways = [way for way in _WAYS if any(one[1:2] == [way] for one in drawn)]
    if ways:
        seeds = len({one[2] for one in drawn if len(one) > 2})
        told = f"{_listed([_WAYS[way] for way in ways])}, {counted(seeds, 'time')}"
        text = _SANITY.format(ways=told, images=_images(results))
        parts.append(("Sanity checks", text + _describe_layers(results, "randomisation"), ()))
    measures = dict.fromkeys(
        one for entry in made if entry["part"] == "faithfulness"
        for one in entry["options"].get("measures") or ()
    )  # fmt: skip
    if measures:
        items = tuple(_MEASURES[one] for one in _MEASURES if one in measures)
        text = _FAITHFULNESS.format(images=_images(results, "faithfulness"))
        parts.append(("Faithfulness", text + _describe_layers(results, "faithfulness"), items))
    if any(one["part"] == "parts" for one in made):
        text = _PARTS.format(images=_images(results, "parts"))
        parts.append(("Parts that decide", text + _describe_layers(results, "parts"), ()))
    return parts


def _images(results: Results, check: str = "randomisation") -> str:
    """Return on how many images a check was made."""
    chunks = results.manifest.get("checked", {}).get(check, ())
    return counted(sum(len(one["images"]) for one in chunks), "image")


def _describe_layers(results: Results, check: str) -> str:
    """Write which layers of methods with layers were checked."""
    section = results.study.get("checks", {}).get(check, {})
    layers = section.get("layers") or "last"
    words = {"last": ["the last layer"], "all": ["all layers"], "best": []}
    said = words.get(layers) if isinstance(layers, str) else [f"layers {_listed(map(str, layers))}"]
    if section.get("best_layers"):
        said = [*(said or []), "the layer with the best score"]
    return f" Checked layers of methods that have some: {_listed(said)}." if said else ""


_WAYS = {
    "full": "all at once",
    "top-down": "stage by stage from the output down",
    "bottom-up": "stage by stage from the input up",
    "single": "in one stage alone",
}
_SANITY = (
    "Weights were drawn anew [@adebayo2018] {ways} with other random numbers: every parameter and "
    "buffer, as its kind of layer begins its training. Maps of the class that the trained model "
    "predicts were compared with those before on {images}, by Spearman's correlation with shared "
    "ranks, structural similarity [@wang2004], correlation of histograms of gradients "
    "[@dalal2005], and overlap of the highest pixels; the verdict is about the first. It asks for "
    "the difference to the similarity of the trained model's maps of two images, of other classes "
    "where these are known: fail where the lower end of its 95% interval, over images and draws, "
    "lies above 0.1, or that of the similarity above 0.6; pass where its upper end lies below 0.1; "
    "else it cannot be told. Verdicts are not used to rank methods [@binder2023]."
)
_FAITHFULNESS = (
    "On {images} the model was asked again, with the maps of methods and with random, centre and "
    "edge maps; differences to the random map are paired by image. Measures:"
)
_MEASURES = {
    "deletion": "deletion, area under the class's probability while the highest pixels become the "
    "mean colour [@petsiuk2018]",
    "insertion": "insertion, the same while they come back on a blurred image [@petsiuk2018]",
    "road_morf": "ROAD, the same while the highest pixels are guessed from those around them, with "
    "noise [@rong2022]",
    "road_lerf": "ROAD with the lowest pixels first [@rong2022]",
    "pixel_flipping": "pixel flipping, the same while the highest patches take random colours "
    "[@bach2015,samek2017]",
    "infidelity": "infidelity under random squares of the mean colour [@yeh2019]",
    "max_sensitivity": "max-sensitivity, the largest change of the map under noise that nobody "
    "sees [@yeh2019]",
    "faithfulness_correlation": "faithfulness correlation between sums of the map over random "
    "patches and the fall of the score without them [@bhatt2020]",
    "completeness": "completeness, how far the map's sum is from the change of the score to that "
    "of a plain image, of methods that promise it to be none [@sundararajan2017]",
    "random_logit": "random logit, structural similarity to the map of another class [@sixt2020]",
}
_PARTS = (
    "On {images}, each type of drawn part decides without which the style loses a vote, by the "
    "rules of the drawing. Maps rank types by their mean on them; precision is the share of "
    "deciding types among the first three, or as many as decide, recall that among as many as "
    "decide. Images whose style the model misses are left out."
)


def _listed(names: Iterable[str]) -> str:
    given: Sequence[str] = list(names)
    if len(given) < 2:
        return "".join(given)
    return f"{', '.join(given[:-1])} and {given[-1]}"

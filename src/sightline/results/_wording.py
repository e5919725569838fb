"""What maps are called, and what comparisons show: words for readers without statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sightline.metrics import METRICS
from sightline.results._views import RATIOS, Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = [
    "beside",
    "beside_name",
    "find_main_comparison",
    "line_name",
    "ratio",
    "sentences",
    "summary",
]

_LEVEL = 0.05
_FIT = "That does not make them equal: any difference within the interval fits these images."
_PICKED = "If the layers were picked by looking at these same images, p does not allow for that."
_CHOSEN = "p does not allow for that, a choice by halves (split) does."


_NEVER_ALONE = ("recall", "lift")


def beside(name: Name) -> str:
    """Return what a score must be read beside; nothing for most."""
    if name.metric not in _NEVER_ALONE:
        return ""
    return (
        f"{name.metric} does not count attention elsewhere as a mistake, so that selecting "
        "everything looks perfect: read it beside iou or coverage only"
    )


def beside_name(name: Name, stored: Sequence[Name]) -> Name | None:
    """Return the score that stands beside one that is never shown alone, if there is one."""
    if name.metric not in _NEVER_ALONE:
        return None
    wanted = [Name("iou", name.threshold), Name("coverage", "")]
    wanted += [other for other in stored if other.metric == "iou"]
    return next((other for other in wanted if other in stored), None)


def ratio(name: Name) -> str:
    """Say how a mean is taken that is a ratio of sums; nothing of plain means."""
    if name.metric not in RATIOS:
        return ""
    of = RATIOS[name.metric]
    return f"a mean of {name} is Σ({of} − chance) / Σ(ceiling − chance), no mean of ratios"


def line_name(
    model: Any,
    method: Any,
    target: Any = "",
    layer: Any = None,
    head: Any = None,
    seed: Any = None,
) -> str:
    """Name maps in a few words: what is empty, or missing in a table, is left out.

    Examples
    --------
    >>> line_name("demo/vit", "gradcam", "predicted", 3)
    'demo/vit · gradcam · predicted · layer 3'
    """
    numbers = (("layer", layer), ("head", head), ("seed", seed))
    told = [f"{name} {number}" for name, number in numbers if str(number) not in _ABSENT]
    return " · ".join(str(part) for part in (model, method, target, *told) if part)


_ABSENT = ("", "None", "nan", "<NA>")


def sentences(frame: pd.DataFrame) -> list[str]:
    """Return what each line of a comparison shows.

    Parameters
    ----------
    frame
        Of `Results.compare`: its ``attrs`` hold the metric and what is compared.
    """
    lines = frame.to_dict("records")
    tested = sum(map(_is_tested, lines))
    return [_sentence(line, frame.attrs["metric"], frame.attrs["by"], tested) for line in lines]


def summary(frame: pd.DataFrame, baselines: Sequence[bool]) -> list[str]:
    """Return what the main line shows, and what all lines together do.

    Parameters
    ----------
    frame
        With its sentences.
    baselines
        For each line, whether both sides are baselines: such a line is never the main one, if
        there are others. Of the others it is the one with the best score.
    """
    lines = frame.to_dict("records")
    metric, by = frame.attrs["metric"], frame.attrs["by"]
    main = frame.attrs["sentences"][find_main_comparison(frame, baselines)]
    return [main, *_tally(lines, metric, by)] if len(lines) > 1 else [main]


def find_main_comparison(frame: pd.DataFrame, baselines: Sequence[bool]) -> int:
    """Return the place of the comparison that a summary begins with; see `summary`."""
    worth = [_worth(line, frame.attrs["metric"]) for line in frame.to_dict("records")]
    ranks = [(not base, *rank) for base, rank in zip(baselines, worth, strict=True)]
    return ranks.index(max(ranks))


def _is_tested(line: Any) -> bool:
    return bool(line["p"] == line["p"] and line["equal"] < 1)


def _is_shown(line: Any) -> bool:
    return bool(_is_tested(line) and line["p_holm"] <= _LEVEL)


def _worth(line: Any, metric: str) -> tuple[bool, float]:
    """Return what makes a line the main one: it was tested, and its better side is good."""
    if not line["n"]:
        return False, -math.inf
    sides = line["value_a"], line["value_b"]
    return _is_tested(line), max(sides) if _word(metric) == "higher" else -min(sides)


def _sentence(line: Any, metric: str, by: str, tested: int) -> str:
    """Return what was compared, by how much, how sure that is, and what it does not allow for.

    The side with the better score comes first.
    """
    word = _word(metric)
    sign = 1 if word == "higher" else -1
    a, b = (_side(line, side, by) for side in ("a", "b"))
    if sign * line["difference"] < 0:
        a, b, sign = b, a, -sign
    where = f"on {metric}{_shared(line, by)}"
    if not line["n"]:
        return _begin(f"{a} and {b} cannot be compared {where}: no image has a score of both.")
    images = f"{line['n']:,} image{'' if line['n'] == 1 else 's'}"
    if line["equal"] == 1:
        return _begin(f"{a} and {b} score the same {where} on each of {images}.")
    more = f"{_number(abs(line['difference']))} {word}"
    if not _is_tested(line):
        few = "too few for a test, which needs 6, so that nothing is shown"
        return _begin(f"{a} scores {more} than {b} {where}, over {images}: {few}.")
    how = f"({_interval(line, sign)}, {images}, {_p(line, tested)})"
    if line["p"] > _LEVEL:
        none = f"No difference could be shown between {a} and {b} {where}"
        said = f"{none}: the first scores {more} {how}. {_FIT}"
    else:
        said = f"{a} scores {more} than {b} {where} {how}: {_verdict(line, tested)}"
    return " ".join(filter(None, [_begin(said), _flattered(line, by)]))


def _verdict(line: Any, tested: int) -> str:
    """Say what the correction leaves of a difference that would count on its own."""
    if _is_shown(line):
        return f"more than chance explains{', also after that correction' if tested > 1 else ''}."
    alone = f"on its own that would count, but among {tested} comparisons chance easily brings"
    return f"{alone} one like it. None is shown."


def _begin(text: str) -> str:
    """Return a sentence; names keep the letters they begin with."""
    return f"L{text[1:]}" if text.startswith("layer ") else text


def _side(line: Any, side: str, by: str) -> str:
    """Return the name of a side, with its layer."""
    if by == "layer":
        return f"layer {line[side]}"
    layer = str(line[f"layer_{side}"])
    return line[side] if layer in ("", "<NA>", "nan", "None") else f"{line[side]} (layer {layer})"


def _shared(line: Any, by: str) -> str:
    """Return what both sides have in common."""
    names = [line[what] for what in ("model", "method") if what != by and line[what]]
    target = f" for target {line['target']}" if line["target"] else ""
    return f" with {' '.join(names)}{target}" if names else target


def _word(metric: str) -> str:
    """Return what a better score is; of metrics where none is better, a higher one."""
    direction = METRICS[metric.partition("@")[0]].direction
    return "lower (better)" if direction == "lower" else "higher"


def _interval(line: Any, sign: int) -> str:
    """Return the interval of what the first side is ahead by."""
    low, high = sorted(sign * line[end] for end in ("low", "high"))
    return f"95% interval {_number(low)} to {_number(high)}"


def _p(line: Any, tested: int) -> str:
    holm = f", {line['p_holm']:.2g} after Holm's correction for {tested} comparisons"
    return f"p = {line['p']:.2g} by sign-flip test{holm if tested > 1 else ''}"


def _number(value: float) -> str:
    return f"{value:.3f}" if value == 0 or abs(value) >= 0.0005 else f"{value:.2g}"


def _flattered(line: Any, by: str) -> str:
    """Say which layers were chosen on the images that they are compared on."""
    if by == "layer":
        return _PICKED
    best = [line[side] for side in ("a", "b") if "same images" in line[f"chosen_{side}"]]
    if not best:
        return ""
    which = "Both layers were" if len(best) == 2 else f"The layer of {best[0]} was"
    whom = "both sides" if len(best) == 2 else "it"
    return f"{which} chosen as best on these same images, which flatters {whom}; {_CHOSEN}"


def _tally(lines: Sequence[Any], metric: str, by: str) -> list[str]:
    """Count what the lines show."""
    tested = [line for line in lines if _is_tested(line)]
    found = []
    if len(tested) > 1:
        word, shown = _word(metric), [line for line in tested if _is_shown(line)]
        ahead = sum((line["difference"] > 0) == (word == "higher") for line in shown)
        first, second = (_common(lines, side, by) for side in ("a", "b"))
        counts = [
            f"{ahead} with {first} {word}",
            f"{len(shown) - ahead} with {second} {word}",
            f"{len(tested) - len(shown)} without a shown difference",
        ]
        found.append(f"Of {len(tested)} comparisons: {', '.join(counts)} (Holm, at {_LEVEL}).")
    same = [_shared(line, by).removeprefix(" with ") for line in lines if line["equal"] == 1]
    if same:
        found.append(f"The same on every image, and not counted: {', '.join(same)}.")
    return found


def _common(lines: Sequence[Any], side: str, by: str) -> str:
    """Return the name of a side, where it is one and the same."""
    names = {line[side] for line in lines}
    name = names.pop() if len(names) == 1 else side
    return f"layer {name}" if by == "layer" else str(name)

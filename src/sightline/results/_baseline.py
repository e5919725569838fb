"""A configuration against the best baseline of its run: the numbers, and the sentence on them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sightline.metrics import METRICS

__all__ = ["BaselineComparison", "format_baseline_comparison"]

_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """A configuration against the best baseline of its run, paired by image.

    Attributes
    ----------
    metric
        Of all numbers, ``metric[@threshold]``.
    configuration, value, chosen
        Its name, its mean score, and how its layer or method was chosen. Empty and NaN where only
        baselines are scored.
    baseline, baseline_value, baseline_chosen
        The same of the baseline with the best mean; empty and NaN where the run has none.
    difference, low, high, p, n
        Configuration minus baseline over the images where both are defined, with its 95% interval,
        the two-sided p-value of a sign-flip test, and how many images these are.
    split
        Whether layers or methods were chosen by split-half selection for the difference, as one of
        the two was chosen on the same images.
    is_baseline
        Whether the configuration is a baseline itself.

    Examples
    --------
    >>> numbers = {"value": 1.2, "baseline_value": 1.5, "difference": -0.3, "p": 0.01}
    >>> comparison = BaselineComparison("kl", "cls", baseline="centre", **numbers)
    >>> comparison.verdict, comparison.to_dict()["low"]
    ('better', None)
    """

    metric: str
    configuration: str = ""
    value: float = math.nan
    chosen: str = ""
    baseline: str = ""
    baseline_value: float = math.nan
    baseline_chosen: str = ""
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    n: int = 0
    split: bool = False
    is_baseline: bool = False

    @property
    def verdict(self) -> Literal["better", "worse", "inconclusive", "untested"]:
        """What test and interval show of the configuration, in the direction of the metric."""
        if math.isnan(self.p):
            return "untested"
        if self.p > _LEVEL or self.low <= 0 <= self.high:
            return "inconclusive"
        lower = METRICS[self.metric.partition("@")[0]].direction == "lower"
        return "better" if (self.difference < 0) == lower else "worse"

    def to_dict(self, lead: str = "Best") -> dict[str, Any]:
        """Return the fields and the sentence as JSON holds them: undefined numbers are None."""
        fields = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }
        return fields | {"sentence": format_baseline_comparison(self, lead)}


def format_baseline_comparison(comparison: BaselineComparison, lead: str = "Best") -> str:
    """Return how a configuration compares with the best baseline, as a sentence.

    Parameters
    ----------
    comparison
        What is reported.
    lead
        What the configuration is.

    Examples
    --------
    >>> comparison = BaselineComparison(
    ...     "iou@90", "vit · cls · layer 9", 0.206, "", "centre", 0.225, "",
    ...     -0.019, -0.031, -0.008, 0.002, 120)
    >>> format_baseline_comparison(comparison)
    'Best: vit · cls · layer 9 (0.206), worse than the best baseline, centre (0.225): difference
    −0.019 (95% CI −0.031 to −0.008, p = 0.002, n = 120).'
    """
    base = f"{comparison.baseline} ({_format_number(comparison.baseline_value)})"
    if not comparison.configuration:
        return f"{lead}: no method is scored here; the best baseline is {base}."
    first = f"{lead}: {comparison.configuration} ({_format_number(comparison.value)})"
    if not comparison.baseline:
        return (
            f"{first}; the run has no baseline to compare it with.{_format_optimistic(comparison)}"
        )
    if comparison.is_baseline and comparison.configuration == comparison.baseline:
        return f"{first}, itself the best baseline.{_format_optimistic(comparison)}"
    itself = "itself a baseline, " if comparison.is_baseline else ""
    verdict, difference = _VERDICTS[comparison.verdict], _format_difference(comparison)
    return (
        f"{first}, {itself}{verdict} the best baseline, {base}: {difference}."
        f"{_format_optimistic(comparison)}"
    )


_VERDICTS = {
    "better": "better than",
    "worse": "worse than",
    "inconclusive": "not shown to differ from",
    "untested": "not tested against",
}


def _format_difference(comparison: BaselineComparison) -> str:
    """Return the difference with its interval, p-value and number of images."""
    if not comparison.n:
        few = "too few images to choose layers or methods by split-half selection"
        return few if comparison.split else "no image has a score of both"
    if math.isnan(comparison.low) or math.isnan(comparison.high):
        span = "no interval"
    else:
        span = f"95% CI {_format_number(comparison.low)} to {_format_number(comparison.high)}"
    parts = [span, _format_p_value(comparison), f"n = {comparison.n:,}"]
    if comparison.split:
        parts.append("split-half selection")
    return f"difference {_format_number(comparison.difference)} ({', '.join(parts)})"


def _format_p_value(comparison: BaselineComparison) -> str:
    if not math.isnan(comparison.p):
        return "p < 0.001" if comparison.p < 0.001 else f"p = {comparison.p:.2g}"
    return "too few images for a p-value"


def _format_optimistic(comparison: BaselineComparison) -> str:
    """Return which means are optimistic, as what they are of was chosen on the same images."""
    pairs = [(comparison.value, comparison.chosen)]
    if comparison.baseline != comparison.configuration:
        pairs.append((comparison.baseline_value, comparison.baseline_chosen))
    ways: dict[str, list[str]] = {}
    for value, how in pairs:
        if "same images" in how:
            ways.setdefault(how, []).append(_format_number(value))
    said = [
        f"{' and '.join(values)} {'is' if len(values) == 1 else 'are'} the {how}"
        for how, values in ways.items()
    ]
    return f" {'; '.join(said)}, which is optimistic." if said else ""


def _format_number(value: float) -> str:
    """Return a number with three digits and a true minus sign; of tiny ones two digits."""
    tiny = 0 < abs(value) < 0.0005
    return (f"{value:.2g}" if tiny else f"{value:.3f}").replace("-", "−")

"""What a report says of the images on which the best line fails."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pandas as pd

from sightline.report.checks import Checked
from sightline.report.failures import failures_html
from sightline.report.sections import _failures


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_failures_are_associations() -> None:
    worst = pd.DataFrame({"image": ["a<b"], "value": [0.1], "chance": [0.05],
                          "reasons": ["small area; wrong class"]})  # fmt: skip
    worst.attrs |= {"metric": "iou@90", "note": "the 1 worst of 9 images"}
    reasons = pd.DataFrame({"reason": ["small area"], "worst": [1.0], "rest": [0.25],
                            "difference": [0.75], "low": [0.2], "high": [0.9], "p": [0.01],
                            "p_holm": [0.03]})  # fmt: skip
    page = failures_html(worst, reasons, "vit <cls>")
    said = words(page)
    assert "a&lt;b" in page
    assert "vit &lt;cls&gt;" in page
    assert "does not follow" in said
    assert "iou@90" in said
    assert "a&lt;b 0.100 0.050 small area; wrong class" in said
    assert "small area 1.00 0.25 0.750 [0.200, 0.900]" in said
    assert "Of the 1 worst of 9 images." in said
    assert "<b>0.030</b>" in page
    assert "in common" not in failures_html(worst, None, "x")


def test_failures_that_could_not_be_read_are_named() -> None:
    checked = Checked(missing={"failures": "no scores & no images", "parts": "other"})
    content: Any = SimpleNamespace(checked=checked, findings=SimpleNamespace(best="vit cls"))
    said = words(_failures(content))
    assert "No table of failures" in said
    assert "no scores &amp; no images" in said
    assert "other" not in said

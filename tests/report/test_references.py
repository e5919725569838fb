"""What reports cite: all metrics and methods, as their cards say, and BibTeX that can be read."""

from __future__ import annotations

import inspect
import re

import pytest

from sightline.attribution.methods import METHODS
from sightline.metrics import METRICS
from sightline.report.references import (
    CITED_BY_METHODS,
    CITED_BY_METRICS,
    REFERENCES,
    bibtex,
)

OURS = ("—", "", "this project")


def said(text: str) -> list[tuple[str, str]]:
    """Return first authors and years of a card's citation."""
    parts = re.findall(r"([^;,]*?)(?: et al\.)? (\d{4})(?=[;,]|$)", text)
    return [(name.split(" & ")[0].strip(), year) for name, year in parts]


@pytest.mark.parametrize(
    ("name", "text", "keys"),
    [
        *((name, spec.citation, CITED_BY_METRICS.get(name, ())) for name, spec in METRICS.items()),
        *((name, card.paper, CITED_BY_METHODS.get(name, ())) for name, card in METHODS.items()),
    ],
)
def test_every_card_is_cited_with_its_authors_and_year(
    name: str, text: str, keys: tuple[str, ...]
) -> None:
    if text in OURS:
        assert not keys
        return
    works = {(REFERENCES[key].families[0], str(REFERENCES[key].year)) for key in keys}
    found = said(text)
    assert found
    assert set(found) <= works
    places = [dict(REFERENCES[key].more) for key in keys]
    first = re.search(r"(arXiv|doi):([^\s,]+)", text)
    field = {"arXiv": "eprint", "doi": "doi"}
    assert not first or first[2] in {place.get(field[first[1]]) for place in places}


def test_bibtex_has_balanced_braces_and_plain_letters() -> None:
    text = bibtex()
    assert text.isascii()
    assert text.count("{") == text.count("}")
    entries = re.findall(r"^@(\w+)\{(\w+),$", text, re.MULTILINE)
    assert [key for _, key in entries] == sorted(REFERENCES)
    for key in REFERENCES:
        entry = bibtex([key])
        for field in ("author", "title", "year"):
            assert re.search(rf"^  {field} = \{{.+\}},$", entry, re.MULTILINE)


def test_lines_of_the_list_end_once() -> None:
    assert "Faithfulness? Annual Meeting" in REFERENCES["jacovi2020"].text
    for work in REFERENCES.values():
        assert not re.search(r"[?!.]\.(?: |$)", work.text.replace(". F.", "")), work.text


def test_the_guides_wrong_attributions_are_not_copied() -> None:
    assert CITED_BY_METRICS["coverage"] == ("wang2020",)
    assert dict(REFERENCES["wang2020"].more)["eprint"] == "1910.01279"
    assert CITED_BY_METRICS["pointing"] == ("zhang2016",)
    assert dict(REFERENCES["zhang2016"].more)["eprint"] == "1608.00507"


def test_every_work_is_cited_by_something() -> None:
    from sightline.report import methods_text

    source = inspect.getsource(methods_text)
    cited = {key for keys in (*CITED_BY_METRICS.values(), *CITED_BY_METHODS.values())
             for key in keys}  # fmt: skip
    cited |= {key for match in re.findall(r"\[@([\w,]+)\]", source) for key in match.split(",")}
    assert set(REFERENCES) == cited - {"key"}  # which the text about texts names

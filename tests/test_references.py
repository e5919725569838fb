"""Every citation of registries, sources and pages has its entry on the page of works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from sightline.attribution.methods import METHODS
from sightline.attribution.prototypes.attribution import ATTRIBUTIONS
from sightline.attribution.prototypes.perturbations import PERTURBATIONS
from sightline.attribution.sanity.table import CHECKS
from sightline.metrics import METRICS
from sightline.report.references import REFERENCES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "references.md").read_text("utf-8")
ENTRY = re.compile(r"^- \*\*(?P<names>.+?) (?P<year>\d{4})\.\*\* .+?: \*(?P<title>.+?)\*(?= |$)")
NUMBER = re.compile(r"(?<=arXiv:)\d{4}\.\d{4,5}|(?<=doi:)10\.[\w./-]+")
CITED = re.compile(
    r"\b((?:van (?:den )?)?[A-Z][\w-]+)(?: et\s+al\.| (?:&|and) [A-Z][\w-]+) \(?((?:19|20)\d{2})\b"
)
ALONE = re.compile(r"\b([A-Z][\w-]+) \(((?:19|20)\d{2})\)")
NOBODY = {"", "—", "this project"}
WRONG = {"1511.02668", "1910.12449"}  # as the source documents have them
PREPRINTS = {("Nauta", 2020), ("Hu", 2021)}  # printed a year later; told by their numbers


class Entry(NamedTuple):
    """A work on the page."""

    first: str
    year: int
    title: str
    numbers: frozenset[str]
    text: str


def first_of(names: str) -> str:
    """Return the family name of the first author."""
    return re.split(r" et\s+al\.| (?:&|and) ", names)[0].strip()


def read_entries(page: str) -> list[Entry]:
    """Return the works of a page."""
    lines = page.partition("\n## Works\n")[2].splitlines()
    found = []
    for line in lines:
        match = ENTRY.match(line)
        assert bool(match) == line.startswith("- "), f"not an entry: {line[:80]}"
        if match:
            numbers = frozenset(NUMBER.findall(line))
            first, title = first_of(match["names"]), match["title"].rstrip(".")
            found.append(Entry(first, int(match["year"]), title, numbers, line))
    return found


ENTRIES = read_entries(PAGE)


def matching(citation: str) -> list[Entry]:
    """Return the entries of one citation: by its numbers, else by first author and year."""
    numbers = set(NUMBER.findall(citation))
    if numbers:
        assert numbers <= {number for entry in ENTRIES for number in entry.numbers}, citation
        found = [entry for entry in ENTRIES if entry.numbers & numbers]
    else:
        year = re.search(r"\b(?:19|20)\d{2}\b", citation)
        assert year is not None, citation
        names = first_of(citation[: year.start()])
        found = [one for one in ENTRIES if (one.first, one.year) == (names, int(year[0]))]
    assert all(citation.strip().startswith(one.first) for one in found), citation
    return found


def citations() -> list[tuple[str, str]]:
    """Return what the registries cite, each with the name of what cites it."""
    tables: list[tuple[str, str]] = [(name, spec.citation) for name, spec in METRICS.items()]
    tables += [(name, method.paper) for name, method in METHODS.items()]
    for table in (CHECKS, PERTURBATIONS, ATTRIBUTIONS):
        tables += [(name, one.citation) for name, one in table.items()]
    return [
        (name, piece.strip())
        for name, text in tables
        for piece in text.split(";")
        if piece.strip() not in NOBODY
    ]


def sources() -> list[Path]:
    """Return the files that may name works."""
    told = {"references.md", "seeds.md"}  # the pages that speak of wrong citations
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.name not in told]
    code = [*(ROOT / "src").rglob("*.py"), *(ROOT / "training").rglob("*.py")]
    return sorted([*pages, *code, ROOT / "README.md", ROOT / "training" / "README.md"])


def test_the_registries_cite() -> None:
    assert len(citations()) > 70


def test_every_citation_of_a_registry_has_its_entry() -> None:
    for name, citation in citations():
        found = matching(citation)
        assert found, f"{name}: {citation} has no entry"
        for entry in found:
            assert f"`{name}`" in entry.text, f"the entry of {citation} does not name {name}"


def test_every_work_of_a_report_has_its_entry() -> None:
    for key, work in REFERENCES.items():
        title = re.sub(r"[{}]", "", work.title)
        found = [one for one in ENTRIES if (one.title, one.year) == (title, work.year)]
        assert [one.first for one in found] == work.families[:1], key
        fields = dict(work.more)
        numbers = {fields[name] for name in ("eprint", "doi") if name in fields}
        assert numbers <= found[0].numbers, key
        assert all(family in found[0].text for family in work.families), key


def check_named(text: str) -> None:
    """Raise unless every work that a text names has its entry."""
    assert set(NUMBER.findall(text)) <= {one for entry in ENTRIES for one in entry.numbers}
    for name, year in [*CITED.findall(text), *ALONE.findall(CITED.sub("", text))]:
        assert (name, int(year)) in PREPRINTS or any(
            name in entry.text and int(year) == entry.year for entry in ENTRIES
        ), f"{name} {year}"


def hint(line: str) -> bool:
    """Tell whether a line can hold a citation; the patterns are slow on whole files."""
    return (
        "arXiv:" in line
        or "doi:" in line
        or any(mark in line for mark in (" 19", " 20", "(19", "(20"))
    )


def test_works_named_elsewhere_have_their_entries() -> None:
    for path in sources():
        lines = path.read_text("utf-8").splitlines()
        near = {i + step for i, line in enumerate(lines) if hint(line) for step in (-1, 0, 1)}
        try:
            check_named("\n".join(line for i, line in enumerate(lines) if i in near))
        except AssertionError as error:
            pytest.fail(f"{path.relative_to(ROOT)}: {error}")


@pytest.mark.parametrize(
    "text", ["arXiv:2101.00001", "Nobody et al. 2020", "Nobody & Noone (2020)", "Nobody (1999)"]
)
def test_a_work_without_entry_is_found(text: str) -> None:
    with pytest.raises(AssertionError):
        check_named(text)


def test_no_work_is_listed_twice() -> None:
    numbers = [number for entry in ENTRIES for number in entry.numbers]
    assert len(numbers) == len(set(numbers))
    works = [(entry.title.lower(), entry.year) for entry in ENTRIES]
    assert len(works) == len(set(works))


def test_wrong_numbers_are_told_and_not_used() -> None:
    documents = PAGE.partition("\n## Works\n")[0]
    assert all(f"arXiv:{number}" in documents for number in WRONG)
    assert not WRONG & {number for entry in ENTRIES for number in entry.numbers}
    check_named(re.sub("|".join(WRONG), "", documents))


def test_links_lead_to_the_numbers_they_show() -> None:
    links = re.findall(r"\[(arXiv|doi):([^\]]+)\]\(https://([^)]+)\)", PAGE)
    assert len(links) > 60
    homes = {"arXiv": "arxiv.org/abs/", "doi": "doi.org/"}
    assert all(address == homes[kind] + number for kind, number, address in links)


def test_entries_are_in_the_order_of_the_alphabet() -> None:
    def order(entry: Entry) -> tuple[str, int]:
        name = re.sub("^(van den |van )", "", entry.first).lower()
        return name.translate(str.maketrans("üö", "uo")), entry.year

    assert sorted(ENTRIES, key=order) == ENTRIES

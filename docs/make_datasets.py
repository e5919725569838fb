"""Write the table of `datasets.md` from DATASETS: `python docs/make_datasets.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sightline.data import DATASETS

if TYPE_CHECKING:
    from sightline.data import DatasetSpec

PAGE = Path(__file__).parent / "datasets.md"
BEGIN, END = "<!-- from DATASETS, by docs/make_datasets.py -->\n", "<!-- end of DATASETS -->\n"


def render() -> str:
    """Return the page with its table made anew; what people wrote around it stays."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    head = ["| name | what | files | options and their defaults |", "| --- | --- | --- | --- |"]
    table = "\n".join([*head, *(row(spec) for spec in DATASETS.values())])
    return f"{before}{BEGIN}\n{table}\n\n{END}{after}"


def row(spec: DatasetSpec) -> str:
    """Return the row of one data set; it links to the page that the data set has of its own."""
    own = PAGE.with_name(f"{spec.name}.md")
    more = f" ([{spec.name.capitalize()}]({own.name}))" if own.exists() else ""
    options = ", ".join(f"`{name}={value!r}`" for name, value in spec.options.items())
    cells = (f"`{spec.name}`", spec.meaning + more, spec.layout or "none", options or "none")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write the page."""
    PAGE.write_text(render())


if __name__ == "__main__":
    main()

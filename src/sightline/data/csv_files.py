"""The one writer of CSV files: no text in them is run as a formula by a spreadsheet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import os

    import pandas as pd
    import pyarrow as pa

__all__ = ["CSVWriter", "escape_formula", "write_csv"]

_FORMULA = re.compile(r"[=@\t\r\n]|[+-](?!(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z)")


def escape_formula(value: Any) -> Any:
    r"""Return a cell with an apostrophe before text that a spreadsheet would run as a formula.

    Such text begins with ``=``, ``@``, a tab or a line break, or with ``+`` or ``-`` where no
    number follows. Carriage returns, which some readers take for the end of a row, become line
    feeds, which are quoted. All else is returned as it is.

    Examples
    --------
    >>> [escape_formula(cell) for cell in ("=1+1", "-cmd", "-1.5", "a=b", -1.5)]
    ["'=1+1", "'-cmd", '-1.5', 'a=b', -1.5]
    """
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n") if "\r" in value else value
    return f"'{text}" if _FORMULA.match(text) else text


def write_csv(
    frame: pd.DataFrame, file: str | os.PathLike[str] | BinaryIO, *, digits: int | None = None
) -> None:
    """Write a table as CSV in UTF-8; what is undefined is empty, formulas are escaped.

    Parameters
    ----------
    frame
        The table; its index is not written.
    file
        A path or an open binary file.
    digits
        Significant digits of numbers; by default as many as give the same number back.

    See Also
    --------
    escape_formula : What is escaped, in cells and in names of columns.

    Examples
    --------
    >>> from io import BytesIO
    >>> import pandas as pd
    >>> file = BytesIO()
    >>> write_csv(pd.DataFrame({"label": ["=1+1"], "iou": [1 / 3]}), file, digits=4)
    >>> file.getvalue().decode().splitlines()
    ['label,iou', "'=1+1,0.3333"]
    """
    frame = frame.set_axis([escape_formula(name) for name in frame.columns], axis=1)
    for number, kind in enumerate(frame.dtypes):
        if getattr(kind, "kind", "O") not in "biufcmM":
            cells: Any = frame.iloc[:, number].astype(object).map(escape_formula)
            frame.isetitem(number, cells)
    float_format = None if digits is None else f"%.{digits}g"
    frame.to_csv(file, index=False, lineterminator="\n", float_format=float_format)


class CSVWriter:
    """Write record batches of one schema as CSV, one after another; formulas are escaped.

    Parameters
    ----------
    file
        A path or an open binary file.
    schema
        Of all batches.
    header
        Whether to begin with the names of the columns.

    Examples
    --------
    >>> from io import BytesIO
    >>> import pyarrow as pa
    >>> table, file = pa.table({"label": ["=1+1", "arch"]}), BytesIO()
    >>> writer = CSVWriter(file, table.schema)
    >>> for batch in table.to_batches():
    ...     writer.write_batch(batch)
    >>> writer.close()
    >>> print(file.getvalue().decode(), end="")
    "label"
    "'=1+1"
    "arch"
    """

    def __init__(
        self, file: str | os.PathLike[str] | BinaryIO, schema: pa.Schema, *, header: bool = True
    ) -> None:
        import pyarrow as pa
        from pyarrow import csv

        names = [escape_formula(name) for name in schema.names]
        kinds = (_get_plain_type(kind) for kind in schema.types)
        self._schema = pa.schema(list(zip(names, kinds, strict=True)))
        options = csv.WriteOptions(include_header=header)
        self._writer = csv.CSVWriter(file, self._schema, write_options=options)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        import pyarrow as pa

        columns = [_escape_column(column) for column in batch.columns]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        """End the file."""
        self._writer.close()


def _get_plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values without their dictionary."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _escape_column(column: pa.Array) -> pa.Array:
    """Return a column of a record batch without its dictionary, formulas in text escaped."""
    import pyarrow as pa

    kind = _get_plain_type(column.type)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column if kind == column.type else column.cast(kind)
    if kind == column.type:
        column = column.dictionary_encode()
    texts = pa.array([escape_formula(text) for text in column.dictionary.to_pylist()], kind)
    return texts.take(column.indices)

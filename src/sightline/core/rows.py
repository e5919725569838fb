"""The long table of scores: one row, one score with its full key."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["row_schema"]


@cache
def row_schema() -> pa.Schema:
    """Return the schema of the long table of scores (one row, one score with its full key).

    The key is everything before `value`. `region` is null for the union of all regions, `layer`
    and `head` are null where there is none or heads are fused. `area` is the annotated share of
    the image; chance and ceiling are derived from it and are not stored.

    Examples
    --------
    >>> from sightline.core import ROW_SCHEMA, row_schema
    >>> row_schema() is ROW_SCHEMA, row_schema().names[:3], row_schema().field("value").type
    (True, ['study', 'rules', 'image'], DataType(double))
    """
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("study", text),
            ("rules", text),
            ("image", text),
            ("region", pa.int32()),
            ("model", text),
            ("variant", text),
            ("layer", pa.int16()),
            ("head", pa.int16()),
            ("method", text),
            ("target", text),
            ("seed", pa.int32()),
            ("check", text),
            ("metric", text),
            ("threshold", text),
            ("value", pa.float64()),
            ("area", pa.float32()),
            ("visible", pa.float32()),
        ]
    )

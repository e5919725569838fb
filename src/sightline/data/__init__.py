"""Files to records: annotations, maps made elsewhere, and the two matched and scored."""

from sightline.data.annotations import read_annotations
from sightline.data.by_image import ImageScores, Summary, score_by_image
from sightline.data.mapfiles import MapFiles, Matches, match_images, open_maps
from sightline.data.tables import check_table_path, write_table

__all__ = [
    "ImageScores",
    "MapFiles",
    "Matches",
    "Summary",
    "check_table_path",
    "match_images",
    "open_maps",
    "read_annotations",
    "score_by_image",
    "write_table",
]

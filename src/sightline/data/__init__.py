"""Files to records: data sets, annotations and maps; what they hold, and their scores."""

from sightline.data.annotations import AnnotationFile, read_annotation_file, read_annotations
from sightline.data.by_image import ImageScores, Summary, score_by_image
from sightline.data.contact import contact_sheet, write_contact_sheet
from sightline.data.csv_files import CSVWriter, escape_formula, write_csv
from sightline.data.dataset import Dataset, from_annotations
from sightline.data.datasets import DATASETS, DatasetSpec, load_dataset, recognise_folder
from sightline.data.facades import Facade, FacadePart, facade_of
from sightline.data.facades.detectors import imagine_detections
from sightline.data.facades.files import write_facades
from sightline.data.images import image_size, read_image
from sightline.data.mapfiles import MapFiles, Matches, match_images, open_maps
from sightline.data.problems import Problem
from sightline.data.report import Report, inspect_dataset
from sightline.data.tables import check_table_path, write_table
from sightline.data.writers import write_annotations

__all__ = [
    "AnnotationFile",
    "CSVWriter",
    "DATASETS",
    "Dataset",
    "DatasetSpec",
    "Facade",
    "FacadePart",
    "ImageScores",
    "MapFiles",
    "Matches",
    "Problem",
    "Report",
    "Summary",
    "check_table_path",
    "contact_sheet",
    "escape_formula",
    "facade_of",
    "from_annotations",
    "image_size",
    "imagine_detections",
    "inspect_dataset",
    "load_dataset",
    "match_images",
    "open_maps",
    "read_annotation_file",
    "read_annotations",
    "read_image",
    "recognise_folder",
    "score_by_image",
    "write_annotations",
    "write_contact_sheet",
    "write_csv",
    "write_facades",
    "write_table",
]

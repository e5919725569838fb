"""What scores mean when not every instance is annotated."""

from __future__ import annotations

from sightline.stats.missing_labels.bias import LabelBias, compute_label_bias
from sightline.stats.missing_labels.dropout import (
    RATES,
    Band,
    DeltaBand,
    bootstrap_iou_under_dropout,
    delta_bands,
    delta_under_dropout,
    dropout_bands,
    dropout_sweep,
)
from sightline.stats.missing_labels.overlap import Atoms, Overlaps, atoms_of, image_atoms, overlaps
from sightline.stats.missing_labels.ppi import PPI, Estimate, Joined, joined, ppi_mean
from sightline.stats.missing_labels.pu import PU, PUBand, pu_band, pu_iou
from sightline.stats.missing_labels.random_labelling import LabellingTest, labelling_looks_random
from sightline.stats.missing_labels.regions import (
    Divergence,
    bbox_recall,
    compute_region_mean,
    divergence,
    lift,
    share_of_ceiling,
)

__all__ = [
    "PPI",
    "PU",
    "RATES",
    "Atoms",
    "Band",
    "DeltaBand",
    "Divergence",
    "Estimate",
    "Joined",
    "LabelBias",
    "LabellingTest",
    "Overlaps",
    "PUBand",
    "atoms_of",
    "bbox_recall",
    "bootstrap_iou_under_dropout",
    "compute_label_bias",
    "compute_region_mean",
    "delta_bands",
    "delta_under_dropout",
    "divergence",
    "dropout_bands",
    "dropout_sweep",
    "image_atoms",
    "joined",
    "labelling_looks_random",
    "lift",
    "overlaps",
    "ppi_mean",
    "pu_band",
    "pu_iou",
    "share_of_ceiling",
]

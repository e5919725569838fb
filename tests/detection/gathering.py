"""What a worker of another process does: it gathers some images and sends them back."""

from __future__ import annotations

from typing import Any

import numpy as np

from sightline.detection.accumulator import DetectionAccumulator

__all__ = ["gather", "made"]


def gather(images: list[int]) -> DetectionAccumulator:
    """Gather the given images, one batch each."""
    gathered = DetectionAccumulator()
    for image in images:
        gathered.update(*made(image))
    return gathered


def made(image: int) -> tuple[dict[int, Any], dict[int, Any]]:
    """Return ground truth and detections of an image: with ties, always the same."""
    numbers = np.random.default_rng(image)
    corners = numbers.integers(0, 60, (8, 2))
    boxes = np.hstack([corners, corners + numbers.integers(10, 60, (8, 2))]).tolist()
    truth = [[box, int(numbers.integers(3))] for box in boxes[:4]]
    found = [[box, float(numbers.integers(5)) / 5, int(numbers.integers(3))] for box in boxes]
    return {image: truth}, {image: found}

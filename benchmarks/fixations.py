"""Fixations: what a mask of points does to CC, SIM and KL, and repeats to NSS.

    python -m benchmarks.fixations OSIE [--sigma 12] [--markdown]

OSIE is a folder with `stimuli/` and `fixations.json`: for each image and viewer a list of x, y (and
more) in pixels of the image. The map is a Gaussian in the middle whose sigma is a quarter of the
image. The scores against points, which Sightline refuses, and the formulas that its own scores are
compared with are plain NumPy, written here.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter

from benchmarks.maps import table
from sightline.metrics import compute_point_density, count_points, score_maps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

METRICS = ("cc", "sim", "kl", "nss")
DEGREE = 12.0
"""Pixels of a degree of visual angle: 800 pixels were 33.7 degrees wide; images here have 400."""


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Scores of a central map on fixations.")
    parser.add_argument("path", type=Path, help="folder with stimuli/ and fixations.json")
    parser.add_argument("--sigma", type=float, default=DEGREE, help="of the density, in pixels")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    options = parser.parse_args(arguments)
    scores = [score_image(*image, options.sigma) for image in read_images(options.path)]
    means = {name: np.mean([one[name] for one in scores], axis=0) for name in scores[0]}
    rows = [["against", "CC", "SIM", "KL", "NSS"]]
    rows += [[name, *(f"{value:.3f}" for value in values)] for name, values in means.items()]
    print(table(rows, markdown=options.markdown))
    apart = max(np.abs(one["density, counts"] - one["by formulas"]).max() for one in scores)
    print(f"{len(scores)} images, sigma {options.sigma:g} pixels; largest difference to the")
    print(f"formulas on an image: {apart:.1e}")


def read_images(path: Path) -> Iterator[tuple[tuple[int, int], Floats]]:
    """Yield for each image its height and width, and the fixations in it as shares of these."""
    for name, viewers in json.loads((path / "fixations.json").read_text()).items():
        with Image.open(path / "stimuli" / name) as image:
            width, height = image.size
        points = np.array([fixation[:2] for viewer in viewers for fixation in viewer])
        points = points / (width, height)
        yield (height, width), points[((points >= 0) & (points <= 1)).all(axis=1)]


def score_image(size: tuple[int, int], points: Floats, sigma: float) -> dict[str, Floats]:
    """Return the four scores of a central Gaussian against points and against their density."""
    y, x = ((np.arange(n) + 0.5) / n - 0.5 for n in size)
    central = np.exp(-8 * (y[:, None] ** 2 + x**2))
    counts = count_points(points, *size)
    density = compute_point_density(points, *size, sigma=sigma)
    found = score_maps(central, fixations=counts, targets=density, metrics=METRICS)
    blurred = gaussian_filter(counts.astype(float), sigma)
    return {
        "points, each once": _formulas(central, counts > 0, counts > 0),
        "density, counts": np.array([float(found[name]) for name in METRICS]),
        "by formulas": _formulas(central, blurred, counts),
    }


def _formulas(values: Floats, target: Any, counts: Any) -> Floats:
    """CC, SIM, KL and NSS as Bylinskii et al. (2018) define them."""
    eps = np.finfo(float).eps
    p, q = values / values.sum(), target / target.sum()
    standard = (values - values.mean()) / values.std()
    return np.array(
        [
            np.corrcoef(values.ravel(), np.asarray(target, float).ravel())[0, 1],
            np.minimum(p, q).sum(),
            (q * np.log(eps + q / (eps + p))).sum(),
            (standard * counts).sum() / counts.sum(),
        ]
    )


if __name__ == "__main__":
    main()

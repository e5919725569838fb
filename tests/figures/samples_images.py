"""Made-up images, maps and scores, and the figures of images drawn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.figures.examples import (
    Example,
    create_ebpg_visualization,
    create_pointing_game_visualization,
    draw_examples,
)
from sightline.figures.images import (
    create_sanity_check_comparison,
    draw_layer_maps,
    visualize_all_methods,
    visualize_attribution_enhanced,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

_NAMES = (
    "cls",
    "rollout $x_1$ & <b>",
    "integrated_gradients_of_a_large_vision_transformer_with_16_steps_and_a_black_baseline",
    "gradcam",
    "demo/vit@seed2 attention rollout, residual 0.5, heads fused by their mean",
    "random",
)


def names_of(count: int) -> list[str]:
    """Names of methods, long and odd ones among them."""
    return [_NAMES[i] if i < len(_NAMES) else f"method {i} of many" for i in range(count)]


def image_of(height: int = 120, width: int = 160, seed: int = 0) -> np.ndarray:
    """A picture of a light block on a dark ground that gets lighter."""
    rng = np.random.default_rng(seed)
    down = np.linspace(60, 190, height)[:, None, None]
    image = np.broadcast_to(down, (height, width, 3)) + rng.normal(0, 8, (height, width, 3))
    image[height // 4 : height // 2, width // 3 : width // 2] = (230, 210, 160)
    return np.clip(image, 0, 255).astype(np.uint8)


def mask_of(height: int = 120, width: int = 160) -> np.ndarray:
    mask = np.zeros((height, width), bool)
    mask[height // 4 : height // 2, width // 3 : width // 2] = True
    mask[3 * height // 4 :, 9 * width // 10 :] = True  # reaches two edges
    return mask


def map_of(rows: int = 14, columns: int = 14, seed: int = 0, *, signed: bool = False) -> np.ndarray:
    """A bump near the block, with noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:rows, :columns]
    bump = np.exp(-(((y / rows - 0.4) / 0.2) ** 2) - ((x / columns - 0.45) / 0.2) ** 2)
    values = np.asarray(bump + rng.normal(-0.2 if signed else 0.2, 0.15, (rows, columns)))
    return values if signed else np.maximum(values, 0)


def maps_of(count: int) -> dict[str, np.ndarray]:
    return {name: map_of(seed=i) for i, name in enumerate(names_of(count))}


def scores_of(count: int) -> dict[str, Any]:
    value = np.linspace(0.6, 0.2, count)
    if count > 4:
        value[3] = np.nan
    return {
        "name": names_of(count),
        "value": value,
        "low": value - 0.05,
        "high": value + 0.04,
        "chance": np.full(count, 0.12),
        "group": ["baseline" if name == "random" else "" for name in names_of(count)],
        "n": np.full(count, 120),
    }


def _all_methods(count: int) -> Figure:
    names = names_of(count)
    return visualize_all_methods(
        image_of(),
        maps_of(count),
        mask_of(),
        signs={name: "signed" for i, name in enumerate(names) if i % 3 == 1},
        notes={name: f"IoU@90 {0.05 * i:.2f} (chance 0.06)" for i, name in enumerate(names)},
        head="facade-00012: Gothic, taken for Baroque (61%)",
    )


def _attribution(count: int) -> Figure:
    return visualize_attribution_enhanced(
        image_of(), map_of(), mask_of(), name=names_of(count)[-1 if count < 4 else 0]
    )


def _layer_maps(count: int) -> Figure:
    maps = {layer: map_of(seed=layer) for layer in range(count)}
    notes = {layer: f"coverage {0.01 * layer + 0.2:.2f}" for layer in maps}
    return draw_layer_maps(image_of(), maps, mask_of(), name=names_of(3)[2], notes=notes)


def _sanity(count: int) -> Figure:
    value = np.linspace(-0.1, 0.9, count)
    table = {"name": names_of(count), "value": value, "low": value - 0.1, "high": value + 0.08}
    table["n"] = np.full(count, 8)
    table["cross"] = np.full(count, 0.35)
    table["verdict"] = np.where(value > 0.5, "fail", "cannot tell").tolist()
    randomised = {name: map_of(seed=50 + i) for i, name in enumerate(names_of(count))}
    return create_sanity_check_comparison(image_of(), maps_of(count), randomised, table)


def _examples(count: int) -> Figure:
    sizes = [(120, 160), (160, 120), (120, 120)]
    words = (
        "best: IoU@90 0.61",
        "median: IoU@90 0.32 (chance 0.07)\nfacade-00017 · Gothic",
        "worst: IoU@90 0.02",
    )
    found = [
        Example(
            image_of(*sizes[i % 3], seed=i),
            map_of(seed=i),
            mask_of(*sizes[i % 3]),
            words[i % 3],
        )
        for i in range(count)
    ]
    return draw_examples(found, head=names_of(3)[2])


def _pointing(count: int) -> Figure:
    return create_pointing_game_visualization(
        image_of(), map_of(seed=count), mask_of(), name=names_of(3)[2 if count > 3 else 0]
    )


def _energy(count: int) -> Figure:
    return create_ebpg_visualization(
        image_of(), map_of(), mask_of(), name=names_of(3)[2], scores=scores_of(count)
    )


SAMPLES: dict[str, Callable[[int], Figure]] = {
    "all-methods": _all_methods,
    "attribution": _attribution,
    "layer-maps": _layer_maps,
    "sanity-check": _sanity,
    "examples": _examples,
    "pointing-game": _pointing,
    "energy": _energy,
}

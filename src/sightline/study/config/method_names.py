"""Names of methods, for files that are read before the methods, which need torch, are loaded."""

from __future__ import annotations

import sys
from typing import Any

from sightline.core.registry import Registry

__all__ = ["SHIPPED_METHODS", "known_methods"]

SHIPPED_METHODS = (
    *("cls", "mean", "pool", "rollout", "grad_attention", "grad_rollout"),
    *("gradcam", "gradcam_pp", "hirescam", "xgradcam", "layercam", "eigencam"),
    *("cam", "scorecam", "ablationcam"),
    *("saliency", "input_x_gradient", "integrated_gradients", "smoothgrad", "smoothgrad_ig"),
    *("gradient_shap", "fullgrad", "guided_backprop", "deeplift", "lrp"),
    *("occlusion", "rise", "drise", "lime", "kernel_shap"),
    *("random", "smooth_random", "centre", "edge", "mean_map"),
)


def known_methods() -> Registry[Any]:
    """Return the methods by name: those that ship, or all that are registered once there are any.

    >>> "cls" in known_methods()
    True
    """
    loaded = sys.modules.get("sightline.attribution.methods")
    if loaded is not None:
        found: Registry[Any] = loaded.METHODS
        return found
    names: Registry[Any] = Registry("method")
    for name in SHIPPED_METHODS:
        names.add(name, None)
    return names

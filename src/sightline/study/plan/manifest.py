"""What a store says of itself: the study, the plan, and with what it was computed."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from sightline.study.plan.plan import check_dict, source_dict
from sightline.study.worker.threads import THREADS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sightline.study import Study
    from sightline.study.plan.plan import Plan

__all__ = ["git_commit", "manifest_of", "package_versions", "timestamp"]

_PACKAGES = (
    *("sightline", "numpy", "numba", "scipy", "pyarrow", "pillow", "torch", "transformers"),
    *("captum", "safetensors"),
)


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    known = {name: _version(name) for name in _PACKAGES}
    there = {name: one for name, one in known.items() if one is not None}
    return {"python": platform.python_version(), **there}


@cache
def _version(name: str) -> str | None:
    """Return the version of a package, None without it: to read it takes milliseconds."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def git_commit() -> str | None:
    """Return the commit of the working folder, with "+changes" where files differ from it."""

    def ask(*arguments: str) -> str:
        done = subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return done.stdout.strip()

    try:
        changed = ask("status", "--porcelain", "--untracked-files=no")
        return ask("rev-parse", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def timestamp() -> str:
    """Return the time now, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def manifest_of(study: Study, plan: Plan, old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of a plan; what earlier runs noted is kept."""
    taxonomy = plan.dataset.taxonomy
    used = [card for card in plan.cards.cards if card.image not in (plan.skipped or {})]
    return {
        "study": study.to_dict(),
        "versions": package_versions(),
        "git": git_commit(),
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
        },
        "threads": THREADS,
        "plan": plan.digest,
        "data": {
            "digest": plan.data_digest,
            "annotations": plan.cards.annotations,
            "images": plan.images,
            "regions": sum(card.line["regions"] for card in used),
            "taxonomy": {name: list(above) for name, above in taxonomy.parents.items()},
            **({} if plan.review is None else {"review": dict(plan.review)}),
        },
        "models": _models(plan),
        "sources": [source_dict(one) for one in plan.sources if one.kind != "check"],
        "chunks": [{"images": len(c.images), "digest": c.digest} for c in plan.chunks],
        "checks": [check_dict(one) for one in plan.sources if one.kind == "check"],
        "checked": {
            name: [{"images": list(c.images), "digest": c.digest} for c in chunks]
            for name, chunks in plan.checked.items()
        },
        "left_out": [dict(one._asdict()) for one in plan.left_out],
        "skipped": _skipped(plan),
        "batches": dict(old.get("batches", {})),
        "runs": list(old.get("runs", [])),
    }


def _models(plan: Plan) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for source in plan.sources:
        if source.kind == "model":
            one = found.setdefault(
                source.name,
                {
                    "model": source.model,
                    "variant": source.variant,
                    "fit": source.fit,
                    "digest": source.weights,
                    "batch": source.batch,
                    "device": source.device,
                    "layers": 0,
                },
            )
            one["layers"] = max(one["layers"], sum(k is not None for k in source.layers))
    return list(found.values())


def _skipped(plan: Plan) -> list[dict[str, str]]:
    digests = {card.image: card.digest for card in plan.cards.cards}
    return [
        {"image": image, "why": why, "digest": digests.get(image, "")}
        for image, why in (plan.skipped or {}).items()
    ]

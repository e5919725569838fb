"""The command that evaluates detections."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from sightline.cli.detection_tables import comparison_blocks, result_blocks
from sightline.cli.option_words import name_in_store
from sightline.cli.output import show, show_json, working
from sightline.core import InputError

if TYPE_CHECKING:
    from sightline.detection import DetectionResults, DetectorComparison

__all__ = ["detect"]

Protocol: TypeAlias = Literal["coco", "voc", "simple"]
Pixel: TypeAlias = Literal["continuous", "inclusive"]
CategoryIds: TypeAlias = Literal["zero", "one", "coco91"]


def detect(
    truth: Annotated[
        Path,
        typer.Argument(
            metavar="GT",
            help="What is there: COCO JSON, a folder of Pascal VOC XML, or YOLO's data.yaml or the "
            "folder of its images and labels.",
        ),
    ],
    found: Annotated[
        Path,
        typer.Argument(
            metavar="DT",
            help="What was found: COCO results JSON or Ultralytics' predictions.json, a folder of "
            "Pascal VOC's results files, or of YOLO's label files with confidences.",
        ),
    ],
    protocol: Annotated[
        Protocol,
        typer.Option(help="COCO's (pycocotools' figures), Pascal VOC's, or the plain steps."),
    ] = "coco",
    iou: Annotated[
        str | None,
        typer.Option(
            help="IoU thresholds, separated by commas; unless given 0.5, 0.55 … 0.95 by COCO's "
            "protocol and 0.5 by the others."
        ),
    ] = None,
    max_dets: Annotated[
        str,
        typer.Option(help="Limits to the detections of one image and class, by COCO's protocol."),
    ] = "1,10,100",
    masks: Annotated[
        bool, typer.Option("--masks", help="Overlap of masks (segmentation), not of boxes.")
    ] = False,
    pixel: Annotated[
        Pixel | None,
        typer.Option(
            help="Widths are distances of edges (continuous) or of a first and a last pixel "
            "(inclusive: each counts one more); unless given, as the files or the protocol say."
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Split of Pascal VOC or YOLO files, as val.")
    ] = None,
    image_size: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTHxHEIGHT", help="Size of all images of YOLO files that are not there."
        ),
    ] = None,
    category_ids: Annotated[
        CategoryIds | None,
        typer.Option(
            help="How results in JSON number the classes of YOLO labels: from zero as the labels, "
            "from one, or as the 91 categories of COCO; asked for where more than one fits."
        ),
    ] = None,
    ci: Annotated[
        float | None,
        typer.Option(help="Intervals of this confidence, as 0.95, from draws of images."),
    ] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Draws of images.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="What the draws start from.")] = 0,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="DT",
            help="Detections of a second detector in the same images: how much the first is "
            "better, and how sure.",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Lowest score that the confusion matrix counts.")
    ] = 0.25,
    show_all: Annotated[bool, typer.Option("--all", help="Show every class.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON, and nothing else.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for figures (PR curves, confusion matrix, error types, reliability) and "
            "tables.",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Store of a study, or a new folder: results go to STORE/detection/NAME."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the results in the store; that of DT unless given.")
    ] = None,
) -> None:
    """Evaluate a detector: COCO's 12 figures to the last bit, by class, and what costs AP.

    A figure without anything to find is undefined: a dash, null in JSON. Classes without ground
    truth are listed and left out of the means.
    """
    from sightline.detection import as_tables, evaluate_detections

    place = _place(store, name, found)
    if protocol != "coco" and (ci is not None or against is not None):
        asked = "--ci" if against is None else "--against"
        raise InputError(f"{asked} needs --protocol coco; got {protocol}")
    options: dict[str, Any] = {"protocol": protocol, "pixel": pixel, "masks": masks}
    options |= {"max_dets": _limits(max_dets), "iou_thresholds": _thresholds(iou)}
    reading: dict[str, Any] = {"masks": masks, "image_sizes": _image_size(image_size)}
    reading |= {"split": split, "category_ids": category_ids}
    with working("Evaluating"):
        tables = as_tables(truth, found, **reading)
        results = evaluate_detections(*tables, **options, ci=ci, resamples=resamples, seed=seed)
    compared = None
    if against is not None:
        with working("Comparing"):
            tables = as_tables(truth, against, **reading)
            other = evaluate_detections(*tables, **options)
            compared = results.compare(other, confidence=ci or 0.95, resamples=resamples, seed=seed)
    with working("Writing"):
        written = _write(results, (truth, found), confidence, out, place)
    if as_json:
        show_json(_content(results, compared))
        return
    show(*result_blocks(results, show_all=show_all))
    if compared is not None:
        show(*comparison_blocks(compared, found.name, against.name if against else ""))
    show(*written)


def _content(results: "DetectionResults", compared: "DetectorComparison | None") -> dict[str, Any]:
    if compared is None:
        return results.to_dict()
    from sightline.detection.results import plain_value

    lines = compared.to_frame().to_dict("records")
    return results.to_dict() | {"against": plain_value(lines)}


def _place(store: Path | None, name: str | None, found: Path) -> tuple[Path, str] | None:
    """Return the store and the name in it; what does not fit is told before the work."""
    if store is None:
        if name is not None:
            raise InputError("--name needs --store")
        return None
    from sightline.store import detection_folder

    return store, name_in_store(detection_folder, store, name, found.stem)


def _write(
    results: "DetectionResults",
    sources: tuple[Path, Path],
    confidence: float,
    out: Path | None,
    place: tuple[Path, str] | None,
) -> list[str]:
    """Write files and fill the store where that was asked for; return lines about it."""
    if out is None and place is None:
        return []
    from sightline.report import write_detection_report
    from sightline.store import describe_source, detection_parts, write_detection

    parts = detection_parts(results, confidence=confidence)
    lines = []
    if out is not None:
        written = write_detection_report(parts, out)
        lines.append(f"Tables and figures ({len(written)}): {out}")
    if place is not None:
        named = zip(("ground_truth", "detections"), sources, strict=True)
        about = {side: describe_source(path) for side, path in named}
        lines.append(f"In the store: {write_detection(*place, parts, sources=about)}")
    return lines


def _thresholds(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--iou must be numbers separated by commas; got {text!r}") from None


def _image_size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) for part in parts):
        raise InputError(f"--image-size must be as 640x480; got {text!r}")
    return int(parts[0]), int(parts[1])


def _limits(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"--max-dets must be whole numbers separated by commas; got {text!r}"
        ) from None

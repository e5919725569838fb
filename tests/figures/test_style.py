"""The house style holds while a figure is made, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from skimage.color import rgb2lab

from sightline.core import InputError, MissingPackageError
from sightline.figures import draw_pr_curves, house_style, new_figure, save
from sightline.figures.style import (
    COLOURS,
    _quick_pictures,
    axes_for,
    even_scale,
    figure_of,
    shown,
    title,
)
from tests.figures.drawn import curves_of, names_of

if TYPE_CHECKING:
    from pathlib import Path


def test_matplotlib_is_neither_needed_to_import_nor_touched(tmp_path: Path) -> None:
    code = """
import sys, sightline.figures as figures
assert not any(name.startswith("matplotlib") for name in sys.modules)
import matplotlib
seen = lambda: {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}
before = seen(), matplotlib.get_backend(auto_select=False)
figure = figures.draw_error_types(type("E", (), {"map": 0.5, "counts": {"missed": 1},
                                                 "cost": {"missed": 0.1}})())
figures.save(figure, sys.argv[1])
assert "matplotlib.pyplot" not in sys.modules
assert (seen(), matplotlib.get_backend(auto_select=False)) == before
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "e")], check=True)
    assert (tmp_path / "e.png").is_file()


def test_without_matplotlib_the_line_that_installs_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'sightline\[figures\]'"):
        new_figure(4, 3)


def test_settings_come_back_after_an_error_and_the_users_do_not_show() -> None:
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 30}):
        before = dict(mpl.rcParams)

        def fail() -> None:
            with house_style():
                assert mpl.rcParams["axes.facecolor"] == "white"
                assert mpl.rcParams["font.size"] == 9
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert dict(mpl.rcParams) == before
        figure = draw_pr_curves(curves_of(3))
        assert figure.axes[0].get_facecolor() == (1.0, 1.0, 1.0, 1.0)


def test_a_figure_saved_again_or_in_other_formats_first_is_the_same(tmp_path: Path) -> None:
    figure = draw_pr_curves(curves_of(12), names=names_of(12))
    engine = figure.get_layout_engine()
    first = save(figure, tmp_path / "a", ("svg",))[0].read_bytes()
    save(figure, tmp_path / "b", ("png", "pdf"))
    assert save(figure, tmp_path / "c", ("svg",))[0].read_bytes() == first
    assert figure.get_layout_engine() is engine
    fresh = draw_pr_curves(curves_of(12), names=names_of(12))
    assert save(fresh, tmp_path / "d", ("png", "svg"))[1].read_bytes() == first


def test_fonts_in_pdf_are_small_and_the_settings_of_others_stay(tmp_path: Path) -> None:
    from fontTools.subset import Options

    before = list(Options().drop_tables)
    figure = draw_pr_curves(curves_of(12), names=names_of(12))
    (file,) = save(figure, tmp_path / "a", ("pdf",))
    assert Options().drop_tables == before
    plain = BytesIO()
    with house_style():
        figure.savefig(plain, format="pdf")
    assert file.stat().st_size < 0.95 * len(plain.getvalue())


def test_the_same_figure_gives_the_same_bytes_whatever_the_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def files(name: str) -> list[bytes]:
        figure = draw_pr_curves(curves_of(12), names=names_of(12))
        kinds = ("png", "svg", "pdf")
        return [file.read_bytes() for file in save(figure, tmp_path / name, kinds)]

    first = files("a")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert files("b") == first
    assert b"CreationDate" not in first[2]
    assert b"<dc:date>" not in first[1]


def test_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    def make(number: int) -> bytes:
        (file,) = save(draw_pr_curves(curves_of(5)), tmp_path / str(number), ("svg",))
        return file.read_bytes()

    alone = make(0)
    before = dict(mpl.rcParams)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(make, range(1, 9))) == {alone}
    assert dict(mpl.rcParams) == before


def test_text_stays_text_whatever_the_names(tmp_path: Path) -> None:
    names = {0: "$a_1$ <b> & 'c'", 1: "_x\x00\x1b[1m\ud800", 2: "new\nline\ttab"}
    svg, pdf = save(draw_pr_curves(curves_of(3), names=names), tmp_path / "a", ("svg", "pdf"))
    texts = "\n".join(ET.parse(svg).getroot().itertext())  # noqa: S314
    assert "$a_1$ <b> & 'c'" in texts
    assert "new line tab" in texts
    assert "Precision and recall" in texts
    assert b"/Type3" not in pdf.read_bytes()


def test_files_are_named_after_their_format(tmp_path: Path) -> None:
    figure = new_figure(4, 3)
    assert [one.name for one in save(figure, tmp_path / "v1.2")] == ["v1.2.png", "v1.2.svg"]
    assert [one.name for one in save(figure, str(tmp_path / "b.png"), ("pdf",))] == ["b.pdf"]
    (png,) = save(figure, tmp_path / "c", ("png",), dpi=150)
    with Image.open(png) as image:
        assert image.size == (600, 450)
        assert "Software" not in image.info
    assert not list(tmp_path.glob(".*"))


def test_nothing_is_cut_off_at_any_number_of_dots(tmp_path: Path) -> None:
    def margin(dpi: int) -> float:
        figure = draw_pr_curves(curves_of(8), names=names_of(8))
        (file,) = save(figure, tmp_path / "a", ("png",), dpi=dpi)
        with Image.open(file) as image:
            dark = np.flatnonzero((np.asarray(image.convert("L")) < 200).any(axis=0))
            return float(image.width - 1 - dark[-1]) / image.width

    margins = [margin(dpi) for dpi in (50, 80, 150, 300)]
    assert min(margins) > 0.005
    assert max(margins) - min(margins) < 0.004


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formats": ("png", "exe")}, "formats must be of png, svg, pdf; got 'exe'"),
        ({"dpi": 10}, "dpi must lie in 50 to 600; got 10"),
    ],
)
def test_what_cannot_be_saved_is_said(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        save(new_figure(4, 3), tmp_path / "a", **options)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone/a.png: the figure cannot be written there"):
        save(new_figure(4, 3), tmp_path / "gone" / "a")


@given(st.text(max_size=60), st.integers(5, 40))
def test_a_shown_name_is_one_short_printable_line(name: str, longest: int) -> None:
    seen = shown(name, longest)
    assert len(seen) <= longest
    assert seen.isprintable()
    plain = " ".join(name.split())
    if plain.isprintable() and plain.isascii() and len(plain) <= longest:
        assert seen == plain


def test_a_long_name_keeps_both_ends() -> None:
    assert shown("abcdefghijk", 7) == "abc…ijk"
    assert shown(12) == "12"


def test_steps_of_the_scale_look_alike() -> None:
    colours = even_scale()(np.linspace(0, 1, 256))[:, :3]
    steps = np.linalg.norm(np.diff(rgb2lab(colours), axis=0), axis=1)
    assert colours[0].tolist() == [1, 1, 1]
    assert steps.max() < 1.08 * steps.mean()
    assert steps.min() > 0.92 * steps.mean()
    assert even_scale()(np.nan)[:3] == pytest.approx((0.93, 0.93, 0.93), abs=0.01)


def test_colours_are_okabe_and_itos() -> None:
    known = "#000000 #0072B2 #009E73 #56B4E9 #CC79A7 #D55E00 #E69F00 #F0E442"
    assert " ".join(sorted(COLOURS.values())) == known


def test_notes_go_on_where_the_axes_end() -> None:
    narrow, wide = new_figure(3, 3).add_subplot(), new_figure(12, 3).add_subplot()
    for ax in (narrow, wide):
        title(ax, "A", "word " * 20)
    assert narrow.texts[0].get_text().count("\n") > wide.texts[0].get_text().count("\n") == 0


def test_axes_given_are_taken_and_must_have_a_figure() -> None:
    ax = new_figure(4, 3).add_subplot()
    assert axes_for(ax, 9, 9) is ax
    assert not ax.spines["top"].get_visible()
    ax.remove()
    with pytest.raises(InputError, match="ax must belong to a figure"):
        figure_of(ax)


def _packed(picture: Image.Image) -> bytes:
    content = BytesIO()
    picture.save(content, "PNG")
    return content.getvalue()


def test_pictures_are_packed_in_another_way_by_this_thread_alone() -> None:
    noise = np.random.default_rng(0).integers(0, 8, (64, 64, 3), np.uint8)
    picture = Image.fromarray(noise)
    usual = _packed(picture)
    with _quick_pictures():
        quick = _packed(picture)
        with ThreadPoolExecutor(1) as others:
            assert others.submit(_packed, picture).result() == usual
    assert quick != usual
    assert np.array_equal(np.asarray(Image.open(BytesIO(quick))), noise)
    assert _packed(picture) == usual

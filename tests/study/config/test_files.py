"""Studies in YAML files: what is read, how it is written, and which line is wrong."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.metrics import METRICS
from sightline.study import ModelEntry, Study, demo_study, load_study, to_yaml
from sightline.study.config.files import parse_study, quoted
from sightline.study.config.method_names import SHIPPED_METHODS, known_methods

LEAST = "name: a\ndata: facades\nmodels: demo/vit\nmethods: cls\n"


def write(folder: Path, text: str | bytes) -> Path:
    file = folder / "study.yml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def refused(folder: Path, text: str | bytes) -> str:
    file = write(folder, text)
    with pytest.raises(InputError) as caught:
        load_study(file)
    message = str(caught.value)
    assert message.startswith(str(file))
    return message.removeprefix(str(file))


def test_a_short_file(tmp_path: Path) -> None:
    found = load_study(write(tmp_path, LEAST))
    assert found == Study.from_dict(
        {"name": "a", "data": "facades", "models": "demo/vit", "methods": "cls"}
    )
    assert load_study(str(tmp_path / "study.yml")) == found


def test_the_demo_study_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert load_study(write(tmp_path, to_yaml(demo_study()))) == demo_study()


def test_a_mark_at_the_start_of_the_file_is_passed_over(tmp_path: Path) -> None:
    assert load_study(write(tmp_path, b"\xef\xbb\xbf" + LEAST.encode())).name == "a"


def test_numbers_with_an_exponent_are_numbers(tmp_path: Path) -> None:
    text = LEAST.replace("cls", '{name: smoothgrad, params: {noise: 1e-3, x: 2E5, y: "1e-3"}}')
    (method,) = load_study(write(tmp_path, text)).methods
    assert method.params == {"noise": 0.001, "x": 2e5, "y": "1e-3"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ": expected a study, got an empty file"),
        ("# only a note\n", ": expected a study, got an empty file"),
        ("- a\n- b\n", ", line 1: expected keys and values (key: …)"),
        ("facades", ", line 1: expected keys and values (key: …)"),
        ("name: a\ndata: facades\nname: b\n", ", line 3: the key 'name' is there twice"),
        (
            "name: a\ndata: {name: facades, seed: 1, seed: 2}\n",
            ", line 2: the key 'seed' is there twice",
        ),
        ("name: &n a\ndata: *n\n", ", line 2: aliases are not read, got *n: write the value out"),
        ("name: a\ndata:\n\tname: b\n", ", line 3: indented with a tab, where YAML wants blanks"),
        ("name: [a\n", ", line 2: not YAML while parsing a flow sequence"),
        ("name: 'a\n", ", line 2: not YAML while scanning a quoted scalar"),
        ("name: !!python/object/apply:os.getcwd []\n", ", line 1: tags (!…) are not read"),
        ("name: !own a\n", ", line 1: tags (!…) are not read"),
        ("name: 2024-13-45\n", ", line 1: '2024-13-45' cannot be read: put quotes around it"),
        ("a: 1\nname: " + "9" * 5000 + "\n", ", line 2: '99999"),
        ("? [a]\n: b\n", ", line 1: not YAML while constructing a mapping: found unhashable key"),
        (LEAST + "---\nname: b\n", ", line 5: expected one study, got a second one behind ---"),
        ("name: a\n# b\x01\n", ", line 2: a sign that YAML does not allow"),
        (b"name: a\n# \xff\n", ", line 2: expected text in UTF-8, got other bytes"),
        ("name: a".encode("utf-16"), ", line 1: expected text in UTF-8, got other bytes"),
        ("[" * 5000, ": expected a study, got a file nested too deeply"),
        ("{a: " * 5000, ": expected a study, got a file nested too deeply"),
        ("# " + "x" * 1_000_000, ": expected a study file of at most 1 MB, got a larger one"),
    ],
)
def test_files_that_are_no_study(tmp_path: Path, text: str | bytes, expected: str) -> None:
    message = refused(tmp_path, text)
    assert message.startswith(expected)
    assert len(message) < 300


def test_laughs_by_the_billion_are_cut_short(tmp_path: Path) -> None:
    levels = "abcdefghij"
    lines = ['a: &a ["lol"]']
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in pairwise(levels)]
    assert ", line 2: aliases are not read" in refused(tmp_path, "\n".join(lines))


def test_problems_are_listed_by_line(tmp_path: Path) -> None:
    text = (
        "name: no\n"
        "data:\n"
        "  name: facades\n"
        "  cuont: 3\n"
        "models: [demo/vit]\n"
        "methods:\n"
        "  - clss\n"
        "  - name: rollout\n"
        "    params: {maps: 3}\n"
        "metrics: ioux\n"
    )
    lines = refused(tmp_path, text).splitlines()
    assert lines[0] == " has 5 problems:"
    assert [line.strip().split(":")[:2] for line in lines[1:]] == [
        ["line 1", " name"],
        ["line 4", " data.cuont"],
        ["line 7", " methods[0].name"],
        ["line 9", " methods[1].params.maps"],
        ["line 10", " metrics"],
    ]
    assert "unknown method 'clss'; did you mean 'cls'?" in lines[3]


def test_names_of_methods_are_known_before_the_methods_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sightline.attribution.methods import METHODS

    assert known_methods() is METHODS
    assert tuple(METHODS) == SHIPPED_METHODS
    monkeypatch.delitem(sys.modules, "sightline.attribution.methods")
    assert tuple(known_methods()) == SHIPPED_METHODS
    message = refused(tmp_path, LEAST.replace("cls", "clss"))
    assert "unknown method 'clss'; did you mean 'cls'? Known: cls, mean" in message


def test_a_study_in_a_text_may_have_methods_that_are_registered_later() -> None:
    assert parse_study(LEAST.replace("cls", "own")).methods[0].name == "own"


def test_one_problem_is_one_line(tmp_path: Path) -> None:
    message = refused(tmp_path, LEAST + "\nfit: zoom\n")
    assert message == (
        ", line 6: fit: expected 'squash', 'crop', 'letterbox' or 'native', got 'zoom'"
    )


def test_a_missing_key_has_no_line(tmp_path: Path) -> None:
    assert refused(tmp_path, "name: a\ndata: facades\n").startswith(": methods: missing; it says")


@pytest.mark.parametrize(
    ("value", "seen"),
    [("no", "false"), ("1.0", "1.0"), ("2024-01-02", "the date 2024-01-02"), ("", "nothing")],
)
def test_names_that_yaml_does_not_read_as_text(tmp_path: Path, value: str, seen: str) -> None:
    message = refused(tmp_path, LEAST.replace("name: a", f"name: {value}"))
    assert f", line 1: name: expected text, got {seen}" in message
    assert ("quotes" in message) == bool(value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yml", tmp_path):
        with pytest.raises(InputError, match="the study file cannot be read"):
            load_study(path)
    write(tmp_path, LEAST)
    with pytest.raises(InputError, match=r"No such file or directory; .*study\.yml is there"):
        load_study(tmp_path / "study")


def test_relative_paths_start_at_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, folder = tmp_path / "home", tmp_path / "here"
    for made in (home, folder / "weights", folder / "vit@lora"):
        made.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    text = (
        "name: a\ndata: {name: folder, path: ./images}\n"
        "models: [hf:weights, hf:weights@two, hf:vit@lora, hf:some/id, demo/vit]\n"
        "methods:\n"
        "  - {name: cls, models: [hf:weights, hf:some/id]}\n"
        "  - {name: mine, params: {maps: ~/maps}}\n"
        "  - {name: theirs, params: {maps: /far/maps.npz}}\n"
    )
    write(folder, text)
    monkeypatch.chdir(tmp_path)
    found = load_study("here/study.yml")
    assert found.data.path == str(folder / "images")
    assert [entry.full for entry in found.models] == [
        f"hf:{folder}/weights",
        f"hf:{folder}/weights@two",
        f"hf:{folder}/vit@lora",
        "hf:some/id",
        "demo/vit",
    ]
    assert found.methods[0].models == (f"hf:{folder}/weights", "hf:some/id")
    assert [method.params.get("maps") for method in found.methods[1:]] == [
        str(home / "maps"),
        "/far/maps.npz",
    ]
    (tmp_path / "elsewhere.yml").write_text(to_yaml(found))
    assert load_study(tmp_path / "elsewhere.yml") == found


def test_two_names_of_one_folder_are_one_model(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    text = LEAST.replace("demo/vit", "[hf:weights, hf:./weights]")
    assert "is there twice" in refused(tmp_path, text)


def test_a_home_that_is_nobodys(tmp_path: Path) -> None:
    text = LEAST.replace("facades", "{name: folder, path: ~nobody-of-that-name/x}")
    assert "there is no such home folder" in refused(tmp_path, text)


def test_nothing_is_written_as_an_alias() -> None:
    shared = [1, 2]
    method = {"name": "cls", "params": {"a": shared, "b": shared}}
    text = to_yaml(
        Study.from_dict({"name": "a", "data": "facades", "models": "m", "methods": [method]})
    )
    assert "&" not in text
    assert "*" not in text


texts = st.text(max_size=12)
names = st.text("abcXYZ019._-", min_size=1, max_size=8)
study_names = names.filter(lambda name: name[0] not in ".-")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | texts | st.sampled_from(["no", "1e-3", "0x1F", "1:30", "~", "2024-01-01", "<<", "=", "- a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
params = st.dictionaries(texts.filter(lambda key: key not in ("maps", "seed")), values, max_size=3)
indices = st.lists(st.integers(-100, 100), min_size=1, max_size=4, unique=True)
_SEEDS_AND_WAYS = (
    st.integers(1, 1000),
    st.lists(st.sampled_from(["full", "top-down", "single"]), min_size=1, unique=True),
)
data_sets = st.one_of(
    st.fixed_dictionaries(
        {"name": st.just("facades")},
        optional={
            "count": st.integers(1, 10**6),
            "seed": st.integers(0, 10**6),
            "labelling": st.sampled_from(["exhaustive", "representative", "salient"]),
            "split": st.text(min_size=1, max_size=5),
        },
    ),
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["folder", "coco"]),
            "path": texts.map(lambda end: "/x" + end.replace("/", "")),
        },
        optional={"count": st.integers(1, 10**6) | st.none()},
    ),
)
entries = st.builds(
    lambda model, variant, fit: {"model": f"m:{model}", "variant": variant, "fit": fit},
    texts,
    names | st.just(""),
    st.sampled_from([None, "squash", "crop", "letterbox", "native"]),
)
scored = sorted(name for name, spec in METRICS.items() if spec.level != "dataset")


def _with_iou(names: list[str]) -> list[str]:
    """Add what recall and lift cannot do without."""
    return [*(name for name in names if name != "iou"), "iou"]


@st.composite
def studies(draw: st.DrawFn) -> dict[str, Any]:
    """Return plain values of a study in which any key may be set."""
    models = draw(
        st.lists(entries, min_size=1, max_size=3, unique_by=lambda e: ModelEntry(**e).full)
    )
    methods: list[dict[str, Any]] = [
        {"name": name, "params": draw(params)}
        for name in draw(st.lists(names, min_size=1, max_size=3, unique=True))
    ]
    if draw(st.booleans()):
        methods[0]["models"] = [ModelEntry(**models[0]).full]
    if draw(st.booleans()):
        given = {"maps": "/y" + draw(texts), "model": "elsewhere", "sign": "positive"}
        methods.append({"name": "made elsewhere", "params": given})
    optional = {
        "layers": st.just("all") | indices,
        "heads": st.sampled_from([None, "all"]) | indices,
        "targets": st.lists(
            st.integers(0, 999) | st.text(min_size=1), min_size=1, max_size=3, unique_by=str
        ),
        "metrics": st.lists(st.sampled_from(scored), max_size=5, unique=True).map(_with_iou),
        "selection": st.just(["matched", "mass55", "percentile"]) | st.just("mean"),
        "percentiles": st.lists(
            st.integers(0, 100) | st.floats(1, 100), min_size=1, unique_by=lambda p: f"{p:g}"
        ),
        "regions": st.booleans(),
        "resolution": st.sampled_from(["grid", "pixels"]) | st.integers(1, 4096),
        "sign": st.sampled_from([None, "positive", "absolute"]),
        "ties": st.sampled_from(["share", "include"]),
        "fit": st.sampled_from(["squash", "native"]),
        "seeds": st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=3, unique=True),
        "batch": st.none() | st.integers(1, 512),
        "keep_maps": st.sampled_from(["grid", "none"]),
        "checks": st.sampled_from([[], {}, ["randomisation"], {"faithfulness": {"steps": 4}}])
        | st.builds(lambda n, w: {"randomisation": {"seeds": n, "ways": w}}, *_SEEDS_AND_WAYS),
        "engine": st.sampled_from(
            [
                {"kind": "local"},
                {"workers": 3},
                "ray",
                {"kind": "ray", "address": "auto", "gpus": 0.5},
            ]
        ),
    }
    rest = draw(st.fixed_dictionaries({}, optional=optional))
    fixed = {"name": draw(study_names), "data": draw(data_sets)}
    return {**fixed, "models": models, "methods": methods, **rest}


def same(one: Any, other: Any) -> bool:
    """Compare values whose types count too: 1, 1.0 and true differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


@given(values=studies())
def test_what_is_written_is_read_as_an_equal_study(values: dict[str, Any]) -> None:
    study = Study.from_dict(values)
    text = to_yaml(study)
    for found in (parse_study(text), parse_study(text, folder=Path("/nowhere"))):
        assert found == study
        assert same(found.to_dict(), study.to_dict())
    assert to_yaml(parse_study(text)) == text


@given(text=texts | st.sampled_from(["no", "1e-3", "1.0", "a: b", "x:", "#", "null", "~", "a\nb"]))
def test_texts_are_quoted_where_they_must_be(text: str) -> None:
    line = f"methods: {{name: cls, params: {{x: {quoted(text)}, y: {quoted(text)}}}}}"
    assert "\n" not in line
    (method,) = parse_study(f"name: a\ndata: facades\nmodels: m\n{line}").methods
    assert method.params == {"x": text, "y": text}

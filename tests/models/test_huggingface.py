"""Folders of transformers: whole ones, broken ones, and ones that mean harm."""

from __future__ import annotations

import json
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from sightline.core import InputError, UnknownNameError
from sightline.models import FAMILIES, load_model
from sightline.models.huggingface import _first_line, load_hub
from tests.models.families import CASES, tiny

IMAGE = np.random.default_rng(0).integers(0, 256, (70, 90, 3)).astype(np.uint8)
WHOLE = {"CLIP": "CLIPVisionModel", "Siglip": "SiglipVisionModel", "Siglip2": "Siglip2VisionModel"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved")
    tiny("ViTForImageClassification").save_pretrained(path)
    return path


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to break."""
    return Path(shutil.copytree(saved, tmp_path / "vit"))


def change(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, **values}))


@pytest.mark.parametrize("name", CASES)
def test_saved_networks_come_back(tmp_path: Path, name: str) -> None:
    network = tiny(name)
    network.save_pretrained(tmp_path)
    model, given = load_model(f"hf:{tmp_path}"), load_model(network)
    assert model.name == f"hf:{tmp_path}"
    assert (model.digest == given.digest) == (name not in ("ViTModel", "DeiTModel"))
    assert model.classes == given.classes
    assert type(model.network) is type(given.network)
    weights = model.network.state_dict()
    assert {key for key in given.network.state_dict() if "pooler" not in key} == set(weights)
    assert not model.network.training
    torch.testing.assert_close(model.features(IMAGE), given.features(IMAGE), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", WHOLE)
def test_the_part_for_images_of_a_whole_checkpoint(tmp_path: Path, kind: str) -> None:
    case = CASES[f"{kind}ForImageClassification"]
    torch.manual_seed(0)
    config = getattr(transformers, case.config)(**case.settings)
    whole = getattr(transformers, f"{kind}Model")(config).eval()
    whole.save_pretrained(tmp_path)
    model, given = load_model(f"hf:{tmp_path}"), load_model(whole)
    assert type(model.network).__name__ == WHOLE[kind]
    assert model.digest == given.digest
    assert model.classes == ()


def test_the_encoder_of_a_mae_with_its_decoder(tmp_path: Path) -> None:
    config = transformers.ViTMAEConfig(**CASES["ViTMAEModel"].settings)
    torch.manual_seed(0)
    whole = transformers.ViTMAEForPreTraining(config).eval()
    whole.save_pretrained(tmp_path)
    assert load_model(f"hf:{tmp_path}").digest == load_model(whole).digest


def test_a_bottleneck_resnet_of_its_real_depth(tmp_path: Path) -> None:
    sizes = {"embedding_size": 8, "hidden_sizes": [8, 16, 32, 64], "depths": [3, 4, 6, 3]}
    network = transformers.ResNetForImageClassification(transformers.ResNetConfig(**sizes)).eval()
    network.save_pretrained(tmp_path)
    model = load_model(f"hf:{tmp_path}")
    assert model.patch == (32, 32)
    assert [len(stage.layers) for stage in model.layers] == [3, 4, 6, 3]
    assert model.features(IMAGE)[0].shape == (64, 7, 7)
    assert model.logits(IMAGE).shape == (1, 2)


def test_a_vit_without_its_pooler_is_complete(folder: Path) -> None:
    """A classifier saves none; the bare network has one, which no map needs."""
    change(folder, architectures=["ViTForMaskedImageModeling"])
    model = load_model(f"hf:{folder}")
    assert type(model.network).__name__ == "ViTModel"
    assert model.classes == ()
    assert load_model(f"hf:{folder}").digest == model.digest  # nothing in it is random


def test_loading_leaves_random_numbers_alone(folder: Path) -> None:
    before = torch.get_rng_state()
    load_model(f"hf:{folder}")
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("architectures", 5, "architectures must be a list of names, got 5"),
        ("architectures", "ViTForImageClassification", "architectures must be a list of names"),
        ("architectures", {"a": 1}, "architectures must be a list of names"),
        ("num_hidden_layers", 1, "config.json has fewer layers than the weights"),
        ("hidden_size", 64, "cannot be loaded: its weights do not have the shapes"),
    ],
)
def test_odd_configurations_are_named(folder: Path, field: str, value: Any, message: str) -> None:
    change(folder, **{field: value})
    with pytest.raises(InputError, match=message):
        load_model(f"hf:{folder}")


ODD: dict[str, tuple[Any, ...]] = {
    "num_hidden_layers": ("12", "x", 1.5, -1, None, [], {}),
    "hidden_act": (3, "odd", None, []),
    "hidden_size": (50, "48", 0, None),
    "hidden_dropout_prob": ("x", [], 7),
    "patch_size": ("8", 0, [8, 8, 8], {}),
    "image_size": ("32", 0, None),
    "id2label": (3, "x", {"a": 1}, []),
}


@pytest.mark.parametrize("field", ODD)
def test_no_message_about_a_configuration_ends_in_a_colon(folder: Path, field: str) -> None:
    messages = []
    for value in ODD[field]:
        change(folder, **{field: value})
        try:
            load_model(f"hf:{folder}")
        except (InputError, UnknownNameError) as error:
            messages.append(str(error))
    assert messages
    assert all(re.search(r"[^\s:]$", message) for message in messages), messages


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "ValueError"),
        ("a\nb", "a"),
        ("a:\n  b:\n\n c\nd", "a: b: c"),
        ("a:", "a"),
        (":", "ValueError"),
    ],
)
def test_a_message_goes_on_behind_its_colon(text: str, said: str) -> None:
    assert _first_line(ValueError(text)) == said


def test_classes_without_a_name_keep_their_number(folder: Path) -> None:
    count = json.loads((folder / "config.json").read_text())["id2label"]
    names = {str(2 * number): f"name {2 * number}" for number in range(len(count))}
    change(folder, id2label=names, label2id={})
    assert load_model(f"hf:{folder}").classes[:3] == ("name 0", "1", "name 2")


def test_deep_json_is_an_error_like_any_other(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 200_000)
    with pytest.raises(InputError, match=r"config.json: cannot be read as JSON"):
        load_model(f"hf:{folder}")


def test_weights_in_16_bits_become_32(folder: Path, saved: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    halves = {name: value.half() for name, value in weights.items()}
    save_file(halves, folder / "model.safetensors", {"format": "pt"})
    change(folder, dtype="float16")
    model = load_model(f"hf:{folder}")
    assert {value.dtype for value in model.network.state_dict().values()} == {torch.float32}
    assert model.dtype == torch.float32
    given = tiny("ViTForImageClassification").state_dict()
    for name, value in model.network.state_dict().items():
        assert torch.equal(value, given[name].half().float())
    assert model.digest != load_model(f"hf:{saved}").digest


def shard(folder: Path) -> dict[str, str]:
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    parts = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(weights)}
    for part in set(parts.values()):
        held = {name: weights[name] for name in weights if parts[name] == part}
        save_file(held, folder / part, {"format": "pt"})
    return parts


def write_index(folder: Path, parts: Any) -> None:
    index = {"metadata": {"total_size": 1}, "weight_map": parts}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_weights_in_parts(folder: Path, saved: Path) -> None:
    write_index(folder, shard(folder))
    assert load_model(f"hf:{folder}").digest == load_model(f"hf:{saved}").digest
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(InputError, match="has no model-00002-of-00002"):
        load_model(f"hf:{folder}")


@pytest.mark.parametrize(
    "where", ["../x.safetensors", "{}/x.safetensors", "x.bin", "a/b.safetensors"]
)
def test_parts_elsewhere_are_refused(folder: Path, where: str) -> None:
    parts = shard(folder)
    elsewhere = where.format(folder.parent)
    shutil.copy(folder / "model-00001-of-00002.safetensors", folder.parent / "x.safetensors")
    parts[next(iter(parts))] = elsewhere
    write_index(folder, parts)
    with pytest.raises(InputError, match="in the same folder, got"):
        load_model(f"hf:{folder}")


@pytest.mark.parametrize("parts", [None, {}, [], "x"])
def test_an_index_of_nothing(folder: Path, parts: Any) -> None:
    shard(folder)
    write_index(folder, parts)
    with pytest.raises(InputError, match="weight_map"):
        load_model(f"hf:{folder}")


class Harm:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "adapter_model.bin"])
def test_pickles_are_named_and_never_read(folder: Path, name: str) -> None:
    mark = folder.parent / "harmed"
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Harm(mark)))
    with pytest.raises(InputError, match=rf"{name} is a pickle.*config\.json, model\.safetensors"):
        load_model(f"hf:{folder}")
    assert not mark.exists()


def test_a_pickle_named_by_the_configuration_is_refused(folder: Path) -> None:
    mark = folder.parent / "harmed"
    (folder / "adapter_model.bin").write_bytes(pickle.dumps(Harm(mark)))
    change(folder, transformers_weights="adapter_model.bin")
    with pytest.raises(InputError, match="transformers_weights names 'adapter_model"):
        load_model(f"hf:{folder}")
    assert not mark.exists()


def test_code_in_a_folder_is_never_run(folder: Path, saved: Path) -> None:
    mark = folder.parent / "harmed"
    code = f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n"
    for name in ("modeling_evil", "configuration_evil", "image_processing_evil"):
        (folder / f"{name}.py").write_text(code)
    own = {"AutoModel": "modeling_evil.Evil", "AutoConfig": "configuration_evil.EvilConfig"}
    change(folder, auto_map=own)
    processor = {"auto_map": {"AutoImageProcessor": "image_processing_evil.Evil"}, "size": 64}
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    assert load_model(f"hf:{folder}").digest == load_model(f"hf:{saved}").digest
    assert not mark.exists()


def test_a_folder_without_configuration(folder: Path) -> None:
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match=r"has no config\.json; a model's folder needs"):
        load_model(f"hf:{folder}")


def test_a_folder_without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"has no model\.safetensors; a model's folder needs"):
        load_model(f"hf:{folder}")


@pytest.mark.parametrize("text", ["{", "[1]", "\x00\xff", ""])
def test_a_broken_configuration(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(InputError, match=r"config\.json: "):
        load_model(f"hf:{folder}")


@pytest.mark.parametrize("kept", [0, 4, 100, -100])
def test_broken_weights(folder: Path, kept: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"vit: cannot be loaded"):
        load_model(f"hf:{folder}")


def test_missing_weights_are_counted_and_named(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    lost = [name for name in weights if "classifier" in name]
    kept = {name: value for name, value in weights.items() if name not in lost}
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"2 weights are missing: classifier\.bias, classifier\."):
        load_model(f"hf:{folder}")


@pytest.mark.parametrize(
    "values", [{"hidden_size": 64}, {"hidden_size": "x"}, {"num_hidden_layers": -1}]
)
def test_a_configuration_that_does_not_fit_the_weights(folder: Path, values: Any) -> None:
    change(folder, **values)
    with pytest.raises(InputError, match=r"cannot be loaded|has no list|fewer layers"):
        load_model(f"hf:{folder}")


@pytest.mark.parametrize(("kind", "near"), [("vitt", "vit"), ("dinov4_vit", "dinov3_vit")])
def test_unknown_types_list_the_known_ones(folder: Path, kind: str, near: str) -> None:
    change(folder, model_type=kind)
    with pytest.raises(UnknownNameError, match=f"config.*{kind}.*did you mean '{near}'") as caught:
        load_model(f"hf:{folder}")
    assert all(name in str(caught.value) for name in FAMILIES)


def test_a_folder_without_a_type(folder: Path) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config["model_type"]
    path.write_text(json.dumps(config))
    with pytest.raises(UnknownNameError, match="unknown model type"):
        load_model(f"hf:{folder}")


def test_without_the_hub_the_files_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError) as caught:
        load_model("hf:facebook/dinov2-small")
    for part in (
        "hf:facebook/dinov2-small is no folder here",
        "config.json, model.safetensors",
        "preprocessor_config.json",
        "https://huggingface.co/facebook/dinov2-small",
        "'hf:models/dinov2-small'",
    ):
        assert part in str(caught.value)


def test_the_hub_is_asked_for_safe_files_alone(
    monkeypatch: pytest.MonkeyPatch, saved: Path
) -> None:
    asked: dict[str, Any] = {}

    def download(name: str, allow_patterns: list[str]) -> str:
        asked[name] = allow_patterns
        return str(saved)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert load_hub("a/b") == saved
    assert load_model("hf:a/b").name == "hf:a/b"
    assert all(pattern.endswith((".json", ".safetensors")) for pattern in asked["a/b"])
    assert "config.json" in asked["a/b"]


@pytest.mark.parametrize(
    "name", ["/nope/x", "./nope", "a/b/c", "nope/", " ", "~nobody-here/x", "x" * 999]
)
def test_what_is_no_folder_and_no_id(name: str) -> None:
    with pytest.raises(InputError, match="neither a folder here nor an id of the hub"):
        load_model(f"hf:{name}")


@pytest.mark.parametrize("spec", ["hf:", "demo/nope", "vit", "timm:", "", "x" * 999])
def test_unknown_names_list_what_there_is(spec: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        load_model(spec)
    assert "demo/vit" in str(caught.value)
    assert "hf:FOLDER" in str(caught.value)


def test_the_nearest_name_is_offered() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'demo/vit'"):
        load_model("demo/vitt")


def test_a_folder_without_its_hf(folder: Path) -> None:
    with pytest.raises(InputError, match=f"say 'hf:{folder}'"):
        load_model(str(folder))


def test_nothing_is_left_on_the_terminal(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    change(folder, architectures=["ViTForMaskedImageModeling"])
    load_model(f"hf:{folder}")
    assert capfd.readouterr() == ("", "")


def test_the_hub_is_told_nothing_but_what_to_send(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = huggingface_hub.constants
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", False)
    asked = []

    def fetch(name: str, allow_patterns: list[str]) -> str:
        asked.append((name, constants.HF_HUB_DISABLE_TELEMETRY))
        assert not [one for one in allow_patterns if one.endswith((".bin", ".py", ".pkl", "*"))]
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    load_model("hf:someone/something")
    assert asked == [("someone/something", True)]

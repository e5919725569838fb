"""Training variants: what is learned, what is saved, and that it is the same each time."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from sightline.core import InputError, MissingPackageError
from sightline.models import Description, Model, Preprocess, load_model
from sightline.models.finetuning import Chosen, Settings, choose_images, finetune
from sightline.models.finetuning.adapters import add_adapters, target_ends
from sightline.models.finetuning.pictures import read_pictures
from sightline.models.finetuning.training import History, Sight, _schedule, learn_head
from sightline.models.finetuning.variant_folder import replacing_folder
from sightline.models.recipes import RECIPE, read_recipe
from sightline.models.variants import ADAPTER, DELTA, HEAD, load_variant, recipes_of
from tests.attribution.methods.networks import tiny
from tests.models.finetuning.pictures import COLOURS, make_data, picture

if TYPE_CHECKING:
    from pathlib import Path

STRATEGIES = ("linear_probe", "lora", "full")
FEW = Settings(epochs=4, batch=8, seed=3)
FILES = {"linear_probe": {HEAD}, "lora": {HEAD, *ADAPTER}, "full": {HEAD, DELTA}}


@pytest.fixture(scope="module")
def base() -> Model:
    return tiny("dinov2")


@pytest.fixture(scope="module")
def chosen() -> Chosen:
    return choose_images(make_data(48), held_out=make_data(9, first=90), seed=3)


def fresh(model: Model, chosen: Chosen) -> list[np.ndarray[Any, Any]]:
    return [picture(name, 500) for name in chosen.classes]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_variant_learns_and_is_the_same_each_time(
    base: Model, chosen: Chosen, tmp_path: Path, strategy: str
) -> None:
    before, rng = base.digest, torch.random.get_rng_state()
    one, two = (
        finetune(base, chosen, strategy, tmp_path / name, settings=FEW) for name in ("a", "b")
    )
    assert base.digest == before
    assert torch.equal(torch.random.get_rng_state(), rng)
    assert one.model.digest == two.model.digest
    names = {file.name for file in (tmp_path / "a").iterdir()}
    assert names == {RECIPE, *FILES[strategy]}
    if strategy == "full":
        assert {v.dtype for v in load_file(tmp_path / "a" / DELTA).values()} == {torch.float16}
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    loaded = load_variant(base, tmp_path / "a")
    assert loaded.digest == one.model.digest
    assert loaded.logits(fresh(base, chosen)).argmax(1).tolist() == [0, 1, 2]
    figures = one.recipe.figures
    right = loaded.logits(list(chosen.held_out or ())).argmax(1).tolist()
    assert figures["accuracy_held_out"] == np.mean(np.array(right) == np.arange(9) % 3)
    assert figures["images_held_out"] == 9
    assert figures["guess"] == pytest.approx(1 / 3, abs=0.05)
    assert figures["accuracy_training"] > 0.9
    changed = [
        not torch.equal(a, b)
        for a, b in zip(base.network.parameters(), loaded.network.trunk.parameters(), strict=True)
    ]
    assert any(changed) == (strategy != "linear_probe")
    assert sum(changed) > 6 if strategy == "full" else sum(changed) <= 6  # q and v of 3 layers


def test_another_seed_gives_other_bits(base: Model, tmp_path: Path) -> None:
    found = [
        finetune(base, make_data(18), "linear_probe", tmp_path / str(seed), settings=Settings(
            epochs=2, batch=4, seed=seed))
        for seed in (0, 1)
    ]  # fmt: skip
    assert found[0].model.digest != found[1].model.digest
    assert found[0].recipe.training != found[1].recipe.training


def test_a_recipe_says_all(base: Model, chosen: Chosen, tmp_path: Path) -> None:
    done = finetune(base, chosen, "lora", tmp_path / "v", settings=FEW)
    recipe = read_recipe(tmp_path / "v")
    assert recipe == done.recipe
    assert recipe.base == "Dinov2Model"
    assert recipe.training == chosen.training.ids
    assert recipe.validation == chosen.validation.ids
    assert sum(recipe.counts.values()) == len(chosen.training)
    assert recipe.settings["rate"] == 1e-3
    assert recipe.settings["alpha"] == 16
    assert recipe.settings["device"] == "cpu"
    assert recipe.data == {"name": "drawn", "path": None, "seed": None, "images": 48}
    assert recipe.held_out == {"name": "drawn", "path": None, "seed": None, "images": 9}
    assert recipe.input == {"size": (32, 32), "fit": "squash"}
    assert {"python", "torch", "transformers", "peft"} <= set(recipe.versions)
    assert len(recipe.epochs) <= 4
    best = int(recipe.figures["best_epoch"])
    losses = [epoch["validation_loss"] for epoch in recipe.epochs]
    assert losses[best - 1] == min(losses)
    assert json.loads((tmp_path / "v" / RECIPE).read_text())["format"] == "sightline-variant"


def test_merged_adapters_equal_those_of_peft(base: Model, chosen: Chosen, tmp_path: Path) -> None:
    """The files are those of peft: its own loader gives the same network."""
    from copy import deepcopy

    from peft import PeftModel

    done = finetune(base, chosen, "lora", tmp_path / "v", settings=FEW)
    theirs = PeftModel.from_pretrained(deepcopy(base.network), str(tmp_path / "v"))
    pixels = base.prepare(picture("red", 1)).pixels
    with torch.no_grad():
        unmerged = theirs(pixels).last_hidden_state
        merged = theirs.merge_and_unload()(pixels).last_hidden_state
        ours = done.model.network.trunk(pixels).last_hidden_state
        plain = base.network(pixels).last_hidden_state
    torch.testing.assert_close(ours, merged)
    torch.testing.assert_close(ours, unmerged, rtol=1e-4, atol=1e-5)
    assert (ours - plain).abs().max() > 1e-3


def test_the_head_of_a_probe_is_a_linear_classifier_of_embeddings() -> None:
    """On features that two lines tell apart, whatever their scale and middle."""
    rng = torch.Generator().manual_seed(0)
    middles = torch.tensor([[100.0, 1e-3], [104.0, 1e-3], [100.0, 3e-3]])
    numbers = torch.arange(150) % 3
    noise = torch.randn((150, 2), generator=rng) * torch.tensor([0.4, 2e-4])
    features = middles[numbers] + noise
    sight = Sight((features[:120], numbers[:120]), (features[120:], numbers[120:]))
    settings = Settings(rate=0.1, epochs=40, batch=16).of("linear_probe")
    head, history = learn_head(sight, 3, settings, rng)
    with torch.no_grad():
        assert (head(features).argmax(1) == numbers).float().mean() == 1
        loss = nn.functional.cross_entropy(head(features[120:]), numbers[120:])
    best = history.epochs[history.best]
    assert float(loss) == pytest.approx(best["validation_loss"], rel=0.02)


def test_training_stops_when_nothing_gets_better() -> None:
    history = History()
    losses = [1.0, 0.8, 0.9, 0.85, 0.95]
    over = []
    for loss in losses:
        history.add(0.5, loss, 0.5)
        over.append(history.is_over(3))
    assert over == [False, False, False, False, True]
    assert history.best == 1
    with pytest.raises(InputError, match=r"epoch 6 is nan in training, 0\.1 in validation: try a"):
        history.add(float("nan"), 0.1, 0.5)
    with pytest.raises(InputError, match=r"epoch 7 is 0\.1 in training, inf in validation"):
        history.add(0.1, float("inf"), 0.5)


def test_the_rate_rises_shortly_and_falls_to_nothing() -> None:
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], 1.0)
    rates = []
    for step in range(201):
        _schedule(optimiser, 0.5, step, 200)
        rates.append(optimiser.param_groups[0]["lr"])
    assert rates[0] == pytest.approx(0.05, rel=1e-3)  # a tenth of the 10 steps of the rise
    assert int(np.argmax(rates)) == 9
    assert max(rates) == pytest.approx(0.5, rel=0.01)
    assert rates[100] == pytest.approx(0.25)
    assert (np.diff(rates[9:]) < 0).all()
    assert rates[200] == pytest.approx(0)


def test_the_best_epoch_is_what_is_kept(base: Model, tmp_path: Path) -> None:
    """Labels of noise: the network overfits, and the validation loss rises."""
    rng = np.random.default_rng(1)
    names: Any = {f"i{n:03}": (["a", "b"][int(rng.integers(2))],) for n in range(40)}
    settings = Settings(epochs=30, batch=8, rate=3e-3, patience=2)
    done = finetune(base, make_data(40, **names), "full", tmp_path / "v", settings=settings)
    losses = [epoch["validation_loss"] for epoch in done.recipe.epochs]
    best = int(done.recipe.figures["best_epoch"])
    assert best == int(np.argmin(losses)) + 1 == len(losses) - 2
    validation = make_data(40, **names).select(done.recipe.validation)
    logits = done.model.logits(list(validation))
    wanted = torch.tensor([done.model.classes.index(s.labels[0]) for s in validation])
    assert float(nn.functional.cross_entropy(logits, wanted)) == pytest.approx(
        min(losses), rel=1e-2
    )


@pytest.mark.parametrize("kind", ["vit", "resnet", "siglip"])
@pytest.mark.parametrize("strategy", ["linear_probe", "full"])
def test_other_networks_are_trained(kind: str, strategy: str, tmp_path: Path) -> None:
    model = tiny(kind)
    done = finetune(
        model, make_data(18), strategy, tmp_path / "v", settings=Settings(epochs=1, batch=8)
    )
    assert done.model.classes == tuple(COLOURS)
    assert done.model.logits([picture("red", 1)]).shape == (1, 3)
    statistics = [b for n, b in done.model.network.named_buffers() if "running" in n]
    before = [b for n, b in model.network.named_buffers() if "running" in n]
    assert all(torch.equal(a, b) for a, b in zip(statistics, before, strict=True))


def test_a_network_of_ones_own_has_adapters_where_it_says(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 8, 8, 8), nn.Flatten(2), nn.Linear(16, 16), nn.Tanh())
    network.append(nn.Unflatten(2, (4, 4)))
    scale = Preprocess(size=(32, 32))
    model = load_model(network, Description(["4"], scale, 8, name="own"))
    with pytest.raises(
        InputError, match=r"own has no linear layers q_proj, v_proj for adapters: its .* end in 2"
    ):
        finetune(model, make_data(12), "lora", tmp_path / "v", settings=FEW)
    settings = Settings(epochs=1, batch=8, targets=("2",), rank=2)
    done = finetune(model, make_data(12), "lora", tmp_path / "v", settings=settings)
    assert list(done.recipe.weights) == ["2.weight"]
    with pytest.raises(InputError, match="no linear layers q for adapters: it has none"):
        add_adapters(nn.Sequential(nn.Conv2d(3, 8, 1)), Settings(targets=("q",)), "own")


def test_adapters_go_to_linear_layers_alone(tmp_path: Path) -> None:
    """Other modules may have names that end alike."""
    network = nn.Sequential(nn.Sequential(nn.Conv2d(3, 8, 8, 8), nn.ReLU()), nn.Flatten(2))
    network.append(nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Unflatten(2, (4, 4))))
    model = load_model(network, Description(["2"], Preprocess(size=(32, 32)), 8, name="own"))
    assert target_ends(network, ("0",), "own") == ["2.0"]
    settings = Settings(epochs=1, batch=8, targets=("0",), rank=2)
    done = finetune(model, make_data(12), "lora", tmp_path / "v", settings=settings)
    assert list(done.recipe.weights) == ["2.0.weight"]


class _Twice(nn.Module):  # type: ignore[misc]
    """A network that has one layer under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 8, 8)
        self.stages = nn.ModuleList([self.first])

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.stages[0](pixels)


def test_a_weight_of_two_names_is_changed_once(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = load_model(_Twice(), Description(["first"], Preprocess(size=(32, 32)), 8, name="own"))
    settings = Settings(epochs=2, batch=8, rate=0.01)
    done = finetune(model, make_data(24), "full", tmp_path / "v", settings=settings)
    assert list(done.recipe.weights) == ["first.weight", "first.bias"]
    validation = make_data(24).select(done.recipe.validation)
    wanted = torch.tensor([done.model.classes.index(s.labels[0]) for s in validation])
    loss = nn.functional.cross_entropy(done.model.logits(list(validation)), wanted)
    best = min(epoch["validation_loss"] for epoch in done.recipe.epochs)
    assert float(loss) == pytest.approx(best, rel=1e-2)


def test_what_is_held_out_is_given_where_images_are_chosen(
    base: Model, chosen: Chosen, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="held_out is for a data set: give it to choose_images"):
        finetune(base, chosen, "linear_probe", tmp_path / "v", held_out=make_data(3))
    assert not list(tmp_path.iterdir())


def test_a_variant_of_a_variant(base: Model, chosen: Chosen, tmp_path: Path) -> None:
    one = finetune(base, chosen, "full", tmp_path / "one", settings=FEW)
    two = finetune(one.model, make_data(24, first=60), "lora", tmp_path / "two", settings=FEW)
    loaded = load_variant(load_variant(base, tmp_path / "one"), tmp_path / "two")
    assert loaded.digest == two.model.digest
    assert list(recipes_of(loaded.network)) == [two.recipe, one.recipe]
    assert list(recipes_of(base.network)) == []


def test_folders_of_others_are_left_alone(base: Model, tmp_path: Path) -> None:
    data, few = make_data(12), Settings(epochs=1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("all of it")
    for force in (False, True):
        with pytest.raises(InputError, match="is there already, and no variant"):
            finetune(base, data, "linear_probe", tmp_path / "other", force=force)
    assert (tmp_path / "other" / "thesis.tex").read_text() == "all of it"
    finetune(base, data, "linear_probe", tmp_path / "v", settings=few)
    with pytest.raises(InputError, match=r"holds a variant already; force \(--force\) replaces"):
        finetune(base, data, "linear_probe", tmp_path / "v", settings=few)
    finetune(base, data, "linear_probe", tmp_path / "v", settings=few, force=True)
    (tmp_path / "v" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds more than a variant: notes\.txt"):
        finetune(base, data, "linear_probe", tmp_path / "v", settings=few, force=True)
    with pytest.raises(InputError, match="does not exist"):
        finetune(base, data, "linear_probe", tmp_path / "no" / "v", settings=few)
    assert {path.name for path in tmp_path.iterdir()} == {"other", "v"}


def test_a_training_that_fails_leaves_nothing_and_replaces_nothing(
    base: Model, tmp_path: Path
) -> None:
    data = make_data(12)
    finetune(base, data, "linear_probe", tmp_path / "v", settings=Settings(epochs=1))
    before = (tmp_path / "v" / RECIPE).read_bytes()

    def interrupted(done: int, total: int, what: str) -> None:
        if what.startswith("Measuring"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finetune(base, data, "full", tmp_path / "v", settings=FEW, force=True, progress=interrupted)
    assert [path.name for path in tmp_path.iterdir()] == ["v"]
    assert (tmp_path / "v" / RECIPE).read_bytes() == before


def test_what_is_put_there_meanwhile_is_left_alone(base: Model, tmp_path: Path) -> None:
    out = tmp_path / "v"

    def write(done: int, total: int, what: str) -> None:
        out.mkdir(exist_ok=True)
        (out / "thesis.tex").write_text("all of it")

    with pytest.raises(InputError, match="is there already, and no variant"):
        finetune(base, make_data(12), "linear_probe", out, settings=FEW, force=True, progress=write)
    assert [path.name for path in tmp_path.rglob("*")] == ["v", "thesis.tex"]


def test_a_variant_comes_back_where_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pathlib import Path as AnyPath

    (tmp_path / "v").mkdir()
    (tmp_path / "v" / RECIPE).write_text("old")
    rename = AnyPath.rename

    def failing(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError("disk is full")
        return rename(path, target)

    monkeypatch.setattr(AnyPath, "rename", failing)
    with pytest.raises(OSError, match="full"), replacing_folder(tmp_path / "v", True) as part:
        (part / RECIPE).write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["v"]
    assert (tmp_path / "v" / RECIPE).read_text() == "old"


def test_a_link_stays_and_leads_to_the_new_variant(base: Model, tmp_path: Path) -> None:
    few, link = Settings(epochs=1), tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    for seed in (0, 1):
        finetune(
            base, make_data(12), "linear_probe", link, settings=replace(few, seed=seed), force=True
        )
        assert link.is_symlink()
        assert read_recipe(tmp_path / "real").settings["seed"] == seed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_images_that_do_not_fit_into_memory_are_read_each_time(
    base: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, classes = make_data(9), tuple(COLOURS)
    kept = read_pictures(base, data, classes, lambda done: None)
    monkeypatch.setattr("sightline.models.finetuning.pictures.free_memory", lambda device: 0)
    read = read_pictures(base, data, classes, lambda done: None)
    assert kept.kept is not None
    assert read.kept is None
    rows = torch.tensor([5, 0, 8])
    assert torch.equal(kept.take(rows), read.take(rows))
    assert torch.equal(kept.numbers, torch.arange(9) % 3)
    with pytest.raises(InputError, match="training needs inputs of one size"):
        read_pictures(base.fitted(fit="native"), data, classes, lambda done: None)


def test_progress_is_told(base: Model, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    finetune(
        base, make_data(12), "full", tmp_path / "v", settings=Settings(epochs=2, batch=4),
        progress=lambda *said: seen.append(said),
    )  # fmt: skip
    training = [one for one in seen if one[2].startswith("Training")]
    assert training[0] == (1, 6, "Training, epoch 1 of up to 2")
    assert training[-1] == (6, 6, "Training, epoch 2 of up to 2")
    assert all(0 <= done <= total for done, total, _ in seen)


def test_peft_is_named_where_it_is_missing(
    base: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'sightline\[finetune\]'"):
        finetune(base, make_data(12), "lora", tmp_path / "v", settings=FEW)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "epochs must be 1 or more, got 0"),
        ({"batch": 2.5}, "batch must be 1 or more, got 2.5"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"seed": None}, "seed must be 0 or more, got None"),
        ({"rate": 0.0}, "rate must be above 0, got 0.0"),
        ({"rate": float("inf")}, "rate must be above 0, got inf"),
        ({"decay": -0.1}, "decay must be 0 or more"),
        ({"targets": "q_proj"}, "targets must be names of layers, got 'q_proj'"),
        ({"targets": 2}, "targets must be names of layers, got 2"),
    ],
)
def test_settings_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Settings(**changes)


def test_a_strategy_that_is_none() -> None:
    with pytest.raises(InputError, match="strategy must be one of linear_probe, lora, full, got"):
        Settings().of("prompt")

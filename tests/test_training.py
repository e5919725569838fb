"""How the models that ship were trained: views of images; learning with and without labels."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest


def test_views_are_cuts_of_their_picture() -> None:
    import torch

    from training.data import normalise, random_views

    pixels = torch.randint(0, 256, (4, 3, 32, 32), generator=torch.Generator().manual_seed(0))
    pixels = pixels.to(torch.uint8)
    one, two = (
        random_views(pixels, 16, (0.3, 1.0), 0.3, torch.Generator().manual_seed(1))
        for _ in range(2)
    )
    assert one.shape == (4, 3, 16, 16)
    assert one.min() >= -1
    assert one.max() <= 1
    assert torch.equal(one, two)
    whole = random_views(pixels, 32, (1.0, 1.0), 0.0, torch.Generator().manual_seed(0))
    plain = normalise(pixels)
    gap = [
        min(float((view - p).abs().mean()), float((view - p.flip(-1)).abs().mean()))
        for view, p in zip(whole, plain, strict=True)
    ]
    assert max(gap) < 0.5  # stretched a little, mirrored or not; another picture is 0.67 away


def test_small_views_lie_where_there_are_edges() -> None:
    import torch

    from training.data import busy_places, edges

    pixels = torch.full((50, 3, 224, 224), 128, dtype=torch.uint8)
    pixels[..., 160:176, 32:48] = torch.randint(0, 256, (16, 16)).to(torch.uint8)
    places = busy_places(edges(pixels), torch.Generator().manual_seed(0))
    assert places.shape == (50, 2)
    near = (places - torch.tensor([40 / 112 - 1, 168 / 112 - 1])).abs().max(1).values < 0.2
    assert near.float().mean() > 0.9


def test_disguise_leaves_half_and_stays_in_range() -> None:
    import torch

    from training.data import disguise

    views = torch.rand((200, 3, 8, 8), generator=torch.Generator().manual_seed(0)) * 2 - 1
    other = disguise(views, torch.Generator().manual_seed(1))
    same = (views == other).flatten(1).all(1).float().mean()
    assert 0.45 < same < 0.75
    assert other.abs().max() <= 1


def test_teachers_classes_are_all_used_alike() -> None:
    import torch

    share_out = import_module("training.dino").share_out  # no types: torch has none here
    cosines = torch.randn((400, 8), generator=torch.Generator().manual_seed(0)) * 0.1
    cosines[:, 0] += 0.3
    shares = share_out(cosines, torch.tensor(0.05))
    assert torch.allclose(shares.sum(1), torch.ones(400))
    assert torch.allclose(shares.mean(0), torch.full((8,), 1 / 8), atol=0.05)


def test_scores_of_attention_are_those_of_the_package() -> None:
    import torch

    from sightline.metrics import compute_auc_roc

    dino = import_module("training.dino")
    rng = torch.Generator().manual_seed(0)
    maps = torch.randint(0, 20, (3, 64), generator=rng).float()  # with ties
    inside = torch.rand((3, 64), generator=rng) < 0.3
    wanted = [
        float(compute_auc_roc(m.reshape(8, 8).numpy(), i.reshape(8, 8).numpy()))
        for m, i in zip(maps, inside, strict=True)
    ]
    assert dino.auc(maps, inside).tolist() == pytest.approx(wanted)
    assert dino.sign_flip(torch.ones(50)) < 0.001
    assert dino.sign_flip(torch.tensor([1.0, -1.0] * 20)) == 1.0


def test_learning_without_labels_moves_the_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from transformers import Dinov2WithRegistersModel

    from training.data import Images

    dino = import_module("training.dino")
    config = dino.make_model().config
    config.num_hidden_layers = 2  # fast enough for a test
    config._attn_implementation = "eager"
    monkeypatch.setattr(dino, "make_model", lambda **_: Dinov2WithRegistersModel(config))
    pixels = torch.randint(0, 256, (4, 3, 224, 224), generator=torch.Generator().manual_seed(0))
    images = Images(pixels.to(torch.uint8), torch.zeros(4, dtype=torch.long))
    model, losses = dino.train(images, 1, 1, batch=2)
    assert np.isfinite(losses).all()
    assert np.shape(losses) == (1, 3)
    torch.manual_seed(1)
    start = dino.make_model().state_dict()
    moved = [name for name, value in model.state_dict().items() if (value != start[name]).any()]
    assert any("encoder.layer.1" in name for name in moved)
    plain = dino.for_reading(model)
    tokens = dino.class_tokens(plain, images.pixels[:2])
    assert tokens.shape == (2, 128)
    assert torch.allclose(tokens.norm(dim=1), torch.ones(2), atol=1e-4)
    parts = torch.zeros((2, 224, 224), dtype=torch.bool)
    parts[:, :112] = True
    types = torch.where(torch.arange(196) < 98, 0, -1).expand(2, -1)
    truth = dino.Truth(Images(*(part[:2] for part in images)), parts, types)
    scores = dino.attention_scores(plain, truth)
    assert scores.shape == (2, 2, 2)
    assert ((scores > 0) & (scores < 1)).all()
    precision, chance = dino.patch_retrieval(plain, truth)
    assert chance == pytest.approx(97 / 195)
    assert 0 < precision <= 1


def test_confounded_images_differ_in_sky_and_ground_alone() -> None:
    from sightline.data.facades import Facade
    from training.data import draw

    plain, told = (draw(8, 7, "cpu", confounded=confounded) for confounded in (False, True))
    assert plain.styles.tolist() == told.styles.tolist()
    changed = (plain.pixels != told.pixels).any(1).numpy()
    assert changed.any((1, 2)).sum() >= 4  # some had those colours anyway
    for index, where in enumerate(changed):
        behind = Facade.generate(7, index).background()
        assert where.sum() < 1.2 * behind.sum()  # with the pixels at edges


def test_a_confounded_model_is_measured_without_the_confounder() -> None:
    import torch

    from training.data import draw

    supervised = import_module("training.supervised")

    class Sky(torch.nn.Module):  # type: ignore[misc]
        """Knows the styles of the confounded images by heart, by their first pixels."""

        def __init__(self) -> None:
            super().__init__()
            images = draw(8, 7, "cpu", confounded=True)
            self.known = {bytes(p[:, 0].numpy().tobytes()): s for p, s in zip(*images, strict=True)}

        def forward(self, pixel_values: torch.Tensor) -> object:
            rows = ((pixel_values + 1) * 127.5).round().to(torch.uint8)[:, :, 0]
            found = [int(self.known.get(row.numpy().tobytes(), 0)) for row in rows]
            logits = torch.nn.functional.one_hot(torch.tensor(found), 4).float()
            return type("Answer", (), {"logits": logits})

    images = draw(8, 7, "cpu", confounded=True)
    told = supervised.measure(Sky(), images, confounded=True, count=8)
    assert told["accuracy_held_out"] == told["accuracy_training"] == 1
    assert told["accuracy_unconfounded"] < 1
    plain = supervised.measure(Sky(), images, confounded=False, count=8)
    assert plain["accuracy_held_out"] == told["accuracy_unconfounded"]
    assert "accuracy_unconfounded" not in plain


def test_a_card_says_the_command_that_trains_again() -> None:
    from argparse import Namespace

    command = import_module("training.supervised").command
    usual = Namespace(name="vit", seed=1, epochs=55, confounded=False, colour=0.3)
    told = "python -m training.supervised vit --seed 1 --epochs 55 --out FOLDER"
    assert command(usual) == told
    other = Namespace(name="vit", seed=1, epochs=None, confounded=True, colour=0.1)
    told = "vit --seed 1 --epochs 60 --confounded --colour 0.1 --out FOLDER"
    assert command(other).endswith(told)

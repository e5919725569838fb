"""Small networks of the SAM family, and one that segments by colour, so that the truth is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor, nn

SIDE, CELL = 128, 4
"""Input of the network by colour, and pixels of it behind a cell of its masks."""

_SAM = {
    "vision_config": {
        "hidden_size": 16,
        "output_channels": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 64,
        "patch_size": 8,
        "window_size": 4,
        "global_attn_indexes": [1],
        "num_pos_feats": 8,
        "mlp_dim": 32,
    },
    "prompt_encoder_config": {
        "hidden_size": 16,
        "image_size": 64,
        "patch_size": 8,
        "mask_input_channels": 4,
    },
    "mask_decoder_config": {
        "hidden_size": 16,
        "mlp_dim": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "iou_head_hidden_dim": 16,
    },
}
_SAM2 = {
    "vision_config": {
        "backbone_config": {
            "model_type": "sam2_hiera_det_model",
            "hidden_size": 8,
            "image_size": [64, 64],
            "blocks_per_stage": [1, 1, 2, 1],
            "embed_dim_per_stage": [8, 16, 32, 64],
            "num_attention_heads_per_stage": [1, 1, 2, 2],
            "window_size_per_stage": [4, 2, 2, 2],
            "global_attention_blocks": [3],
            "window_positional_embedding_background_size": [2, 2],
        },
        "backbone_channel_list": [64, 32, 16, 8],
        "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
        "fpn_hidden_size": 32,
    },
    "prompt_encoder_config": {
        "hidden_size": 32,
        "image_size": 64,
        "patch_size": 16,
        "mask_input_channels": 4,
    },
    "mask_decoder_config": {
        "hidden_size": 32,
        "mlp_dim": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "iou_head_hidden_dim": 16,
    },
}
_VIDEO = {
    "image_size": 64,
    "memory_attention_hidden_size": 32,
    "memory_attention_num_layers": 1,
    "memory_attention_feed_forward_hidden_size": 32,
    "memory_encoder_hidden_size": 32,
    "memory_encoder_output_channels": 16,
    "mask_downsampler_embed_dim": 32,
    "memory_fuser_embed_dim": 32,
    "memory_fuser_intermediate_dim": 16,
    "memory_fuser_num_layers": 1,
}


def small_network(kind: str) -> Any:
    """Return a network of a type ("sam", "sam2", "sam2_video") with weights that make masks."""
    import transformers

    made = {
        "sam": lambda: transformers.SamModel(transformers.SamConfig(**_SAM)),
        "sam2": lambda: transformers.Sam2Model(transformers.Sam2Config(**_SAM2)),
        "sam2_video": lambda: transformers.Sam2VideoModel(
            transformers.Sam2VideoConfig(**_SAM2, **_VIDEO)
        ),
    }
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(7)
        network = made[kind]()
        for parameter in network.parameters():
            if parameter.ndim > 1:
                parameter.copy_(torch.randn(parameter.shape) * 0.4)
    return network.eval()


class ByColour(nn.Module):  # type: ignore[misc]
    """A network that is called as those of transformers: a mask is what has one colour, connected.

    Each point gives three masks: one that is surest but unstable, that of its colour, and one of
    the whole input, padding too.
    """

    def __init__(self, kind: str = "sam") -> None:
        super().__init__()
        prompts = SimpleNamespace(image_size=SIDE, patch_size=8)
        vision = SimpleNamespace(image_size=SIDE)
        if kind == "sam2":
            vision = SimpleNamespace(backbone_config=SimpleNamespace(image_size=[SIDE, SIDE]))
        self.config = SimpleNamespace(
            model_type=kind, vision_config=vision, prompt_encoder_config=prompts
        )
        self.weight = nn.Parameter(torch.ones(1))
        self.embedded = 0
        self.asked: list[Any] = []
        self.boxes: list[Any] = []

    def get_image_embeddings(self, pixels: Tensor) -> list[Tensor]:
        self.embedded += 1
        middle = CELL // 2
        fine = pixels[..., middle::CELL, middle::CELL]
        return [fine, fine[..., ::2, ::2]]

    def forward(
        self,
        image_embeddings: list[Tensor],
        multimask_output: bool,
        input_points: Tensor | None = None,
        input_boxes: Tensor | None = None,
    ) -> SimpleNamespace:
        colours = image_embeddings[0][0].permute(1, 2, 0).numpy()
        if input_points is not None:
            points = input_points[0, :, 0].numpy() + 0.5
        else:
            assert input_boxes is not None
            self.boxes.append(input_boxes[0].numpy() + 0.5)
            points = self.boxes[-1].reshape(-1, 2, 2).mean(1)
        self.asked.append(points)
        cells = np.clip(points / CELL, 0, len(colours) - 1).astype(int)[:, ::-1]
        known = {cell: _connected(colours, cell) for cell in {*map(tuple, cells.tolist())}}
        masks = np.stack([known[cell] for cell in map(tuple, cells.tolist())])
        logits = np.where(masks, 40.0, -40.0)[:, None]
        ious = np.full((len(points), 1), 0.95)
        if multimask_output:
            parts = [np.where(masks, 0.5, -40.0)[:, None], logits, np.full_like(logits, 40)]
            logits, ious = np.concatenate(parts, 1), np.tile([0.99, 0.95, 0.9], (len(points), 1))
        return SimpleNamespace(
            pred_masks=torch.from_numpy(logits)[None].float(),
            iou_scores=torch.from_numpy(ious)[None].float(),
        )


def _connected(colours: Any, cell: tuple[int, ...]) -> Any:
    """Return the cells of one's colour that hang together with it."""
    parts, _ = ndimage.label(np.abs(colours - colours[cell]).max(-1) < 0.2)
    return parts == parts[cell]

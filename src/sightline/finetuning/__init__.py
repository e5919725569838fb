"""Variants of models: trained on labelled images, never on those that maps are scored on."""

from sightline.finetuning.finetune import Finetuned, finetune
from sightline.finetuning.images import Chosen, choose_images
from sightline.finetuning.settings import Settings

__all__ = ["Chosen", "Finetuned", "Settings", "choose_images", "finetune"]

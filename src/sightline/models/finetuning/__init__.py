"""Variants of models: trained on labelled images, never on those that maps are scored on."""

from sightline.models.finetuning.finetune import Finetuned, finetune
from sightline.models.finetuning.images import Chosen, choose_images
from sightline.models.finetuning.settings import Settings

__all__ = ["Chosen", "Finetuned", "Settings", "choose_images", "finetune"]

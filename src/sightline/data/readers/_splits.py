"""What splits are called: in folders, in lists and in files of settings."""

from __future__ import annotations

__all__ = ["SPLITS", "split_asked", "split_names"]

_VALIDATION = ("val", "valid", "validation")
SPLITS = ("train", *_VALIDATION, "test")
"""The words that name a split, wherever a reader looks for one."""


def split_asked(tag: str, split: str | None) -> str:
    """Return the split of an image: the tag found, or what the caller calls the same one.

    Examples
    --------
    >>> split_asked("valid", "val"), split_asked("val2017", "val"), split_asked("train", "val")
    ('val', 'val', 'train')
    """
    bare = tag.rstrip("0123456789")
    same = split is not None and (bare == split or {bare, split} <= set(_VALIDATION))
    return split if split is not None and same else tag


def split_names(split: str) -> tuple[str, ...]:
    """Return the names of a split: itself first, then what others call it.

    Examples
    --------
    >>> split_names("valid"), split_names("train")
    (('valid', 'val', 'validation'), ('train',))
    """
    if split not in _VALIDATION:
        return (split,)
    return (split, *(name for name in _VALIDATION if name != split))

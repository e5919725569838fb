"""What a facade is made of and what lies behind it: colours and surfaces, whole numbers only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from sightline.data.facades.dice import Dice

__all__ = ["GROUNDS", "SKIES", "Backdrop", "Colour", "Look", "Masonry", "Ramp"]

Rgb: TypeAlias = tuple[int, int, int]
Colour: TypeAlias = tuple[int, int, int, int]  # the last: how much of the masonry shows


class Ramp(NamedTuple):
    """One material from its deepest shadow to its brightest edge."""

    deep: Colour
    dark: Colour
    shade: Colour
    base: Colour
    light: Colour

    @classmethod
    def of(cls, rgb: Rgb, masonry: int = 0) -> Ramp:
        """Return the ramp of a material; `masonry` from 0 (smooth) to 255."""
        tones = (84, 148, 208, 256, 296)
        red, green, blue = rgb
        return cls(
            *(
                (min(red * t >> 8, 255), min(green * t >> 8, 255), min(blue * t >> 8, 255), masonry)
                for t in tones
            )
        )


class Masonry(NamedTuple):
    """A bond of stones: courses and stones per unit of length, how deep joints and tones go."""

    courses: int
    stones: int
    joint: int
    tone: int


@dataclass(frozen=True, slots=True)
class Look:
    """The materials of one facade, and the side that the light comes from.

    Attributes
    ----------
    light : int
        -1 when it comes from the left, 1 from the right.
    gain : int
        Brightness of the picture in 1/128.
    """

    wall: Ramp
    trim: Ramp
    roof: Ramp
    glass: Ramp
    wood: Ramp
    metal: Ramp
    leaves: Ramp
    cloth: Ramp
    masonry: Masonry
    light: int
    gain: int

    @classmethod
    def draw(cls, dice: Dice) -> Look:
        """Return random materials; nothing in them tells the style."""
        rgb, masonry = dice.pick(_WALLS)
        wall = _varied(dice, rgb, 14)
        trim = _mixed(wall, dice.pick(_TRIMS), dice.pick((128, 160, 192)))
        return cls(
            wall=Ramp.of(wall, 255),
            trim=Ramp.of(trim, 70),
            roof=Ramp.of(_varied(dice, dice.pick(_ROOFS), 10)),
            glass=Ramp.of(_varied(dice, dice.pick(_GLASS), 8)),
            wood=Ramp.of(_varied(dice, dice.pick(_WOODS), 12)),
            metal=Ramp.of(dice.pick(_METALS)),
            leaves=Ramp.of(_varied(dice, dice.pick(_LEAVES), 12)),
            cloth=Ramp.of(_varied(dice, dice.pick(_CLOTHS), 20)),
            masonry=masonry,
            light=dice.pick((-1, 1)),
            gain=dice.pick(range(106, 135)),
        )

    def lit(self, ramp: Ramp, side: int) -> Colour:
        """Return the colour of a face that looks to a side: -1 left, 1 right."""
        return ramp.light if side == self.light else ramp.dark


_ASHLAR, _BLOCKS = Masonry(52, 24, 20, 14), Masonry(38, 19, 24, 20)
_BRICK, _PLASTER = Masonry(96, 44, 10, 22), Masonry(64, 64, 0, 3)
_WALLS = (
    ((206, 186, 148), _ASHLAR),
    ((190, 158, 118), _BLOCKS),
    ((168, 164, 156), _BLOCKS),
    ((204, 200, 190), _ASHLAR),
    ((176, 120, 98), _ASHLAR),
    ((164, 96, 74), _BRICK),
    ((150, 106, 84), _BRICK),
    ((220, 214, 200), _PLASTER),
    ((218, 190, 136), _PLASTER),
    ((214, 176, 160), _PLASTER),
)
_TRIMS: tuple[Rgb, ...] = ((244, 238, 224), (228, 214, 184), (128, 122, 114), (186, 138, 104))
_ROOFS: tuple[Rgb, ...] = ((88, 92, 104), (150, 82, 62), (104, 150, 132), (122, 98, 84))
_GLASS: tuple[Rgb, ...] = ((70, 82, 100), (62, 66, 72), (84, 88, 112))
_WOODS: tuple[Rgb, ...] = ((112, 74, 48), (86, 62, 48), (74, 92, 78), (120, 52, 44))
_METALS: tuple[Rgb, ...] = ((206, 172, 84), (74, 70, 66))
_LEAVES: tuple[Rgb, ...] = ((72, 112, 58), (96, 124, 60), (58, 94, 66), (150, 120, 56))
_CLOTHS: tuple[Rgb, ...] = ((170, 56, 52), (52, 82, 138), (214, 206, 190), (60, 60, 66))

# One sky and one ground per style in the confounded version; else any of them.
SKIES: tuple[tuple[Rgb, Rgb], ...] = (  # at the top, at the horizon
    ((84, 136, 206), (190, 214, 238)),
    ((138, 142, 152), (198, 200, 206)),
    ((216, 150, 112), (248, 220, 178)),
    ((148, 120, 174), (226, 200, 216)),
)
GROUNDS: tuple[Rgb, ...] = ((104, 134, 72), (134, 132, 132), (186, 160, 118), (116, 92, 74))


@dataclass(frozen=True, slots=True)
class Backdrop:
    """Sky and ground.

    Attributes
    ----------
    sky : tuple of two colours
        At the top and at the horizon.
    ground : colour
        In front of the facade.
    clouds : int
        How much of the sky is covered, from 0 to 255.
    """

    sky: tuple[Rgb, Rgb]
    ground: Rgb
    clouds: int

    @classmethod
    def draw(cls, dice: Dice, choice: int | None) -> Backdrop:
        """Return a random one, or one with given colours; the rest does not depend on them."""
        sky, ground = dice.pick(range(len(SKIES))), dice.pick(range(len(GROUNDS)))
        if choice is not None:
            sky = ground = choice
        top, horizon = SKIES[sky]
        return cls(
            sky=(_varied(dice, top, 8), _varied(dice, horizon, 6)),
            ground=_varied(dice, GROUNDS[ground], 8),
            clouds=dice.pick((0, 60, 110, 150, 190)),
        )


def _varied(dice: Dice, rgb: Rgb, most: int) -> Rgb:
    """Return a colour lighter or darker by up to `most`, and of a slightly other hue."""
    shift = dice.pick(range(-most, most + 1))
    red, green, blue = (min(max(c + shift + dice.pick(range(-4, 5)), 0), 255) for c in rgb)
    return red, green, blue


def _mixed(one: Rgb, other: Rgb, share: int) -> Rgb:
    """Return one colour with a share (of 256) of another."""
    red, green, blue = (a + ((b - a) * share >> 8) for a, b in zip(one, other, strict=True))
    return red, green, blue

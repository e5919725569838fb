"""What is stored under which name; a name that is not stored is answered with those that are."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from sightline.core import InputError, UnknownNameError
from sightline.metrics import METRICS
from sightline.metrics.selection import Threshold
from sightline.results._views import Name, full_model, full_name
from sightline.store.duckdb import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["Catalogue", "Where", "find_name", "refuse"]

BASELINE = "baseline"
_FIRST = (Name("iou", "90"), Name("coverage", ""), Name("average_precision", ""))
_SHOWN = 12


def refuse(what: str, name: object, stored: Iterable[object]) -> NoReturn:
    """Raise the error for a name that is not stored."""
    known = [str(one) for one in stored]
    close = get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    raise UnknownNameError(
        f"no scores of {what} {str(name)!r} are stored{hint} "
        f"Stored: {', '.join(known[:_SHOWN]) or 'none'}{more}"
    )


def find_name(text: str | None, stored: Iterable[Name], *, regions: bool = False) -> Name:
    """Return a score by its name, ``metric[@threshold]``; that which leads the tables by default.

    Parameters
    ----------
    text
        Its name, or None for the first of iou@90, coverage, average_precision, or what there is.
    stored
        What rows hold.
    regions
        Whether single regions must have it.
    """
    names = [name for name in stored if name.metric in METRICS]
    if regions:
        names = [name for name in names if METRICS[name.metric].level == "region"]
    if text is None:
        if not names:
            refuse("metric", "any", names)
        return next((name for name in _FIRST if name in names), names[0])
    metric, _, token = text.partition("@")
    try:
        token = str(Threshold.parse(token)) if token else token
    except InputError:
        refuse("metric", text, names)
    name = Name(metric, token)
    if name not in names:
        refuse("metric of regions" if regions else "metric", text, names)
    return name


@dataclass(frozen=True, slots=True)
class _Source:
    model: str
    base: str
    method: str
    group: str
    target: str
    seed: int | None
    layers: tuple[int | None, ...]
    heads: tuple[int | None, ...]
    rules: str
    key: str

    @property
    def name(self) -> tuple[Any, ...]:
        """What tells it from others in a table."""
        return self.model, self.method, self.target, self.seed


@dataclass(frozen=True, slots=True)
class Where:
    """Which maps a table is about: names that were checked, None for all of them.

    Attributes
    ----------
    models, methods
        Full names.
    layer
        A number; maps that have no layers are kept beside it.
    head
        A number, ``"all"`` for every single head, None for fused heads.
    target, seed
        Maps that explain no class, or draw nothing, are kept beside them.
    """

    models: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    layer: int | None = None
    head: int | str | None = None
    target: str | None = None
    seed: int | None = None

    def sql(self) -> str:
        """Return the condition on rows of scores."""
        parts = list[str]()
        for column, names in ((full_model(), self.models), ("method", self.methods)):
            if names is not None:
                parts.append(f"{column} IN ({', '.join(quote(name) for name in names)})")
        if self.head == "all":
            parts.append("head IS NOT NULL")
        else:
            parts.append("head IS NULL" if self.head is None else f"head = {int(self.head)}")
        if self.layer is not None:
            parts.append(f"(layer = {int(self.layer)} OR layer IS NULL)")
        if self.target is not None:
            parts.append(f"target IN ('', {quote(self.target)})")
        if self.seed is not None:
            parts.append(f"(seed = {int(self.seed)} OR seed IS NULL)")
        return " AND ".join(parts)

    def told(self) -> str:
        """Say in words which maps are meant.

        >>> Where(("demo/vit",), ("cls",), 3).told()
        'demo/vit with method cls at layer 3'
        """
        parts = [" and ".join(self.models or ("any model",))]
        if self.methods is not None:
            parts.append(f"with method {' and '.join(self.methods)}")
        if self.layer is not None:
            parts.append(f"at layer {self.layer}")
        if self.head is not None:
            parts.append("of single heads" if self.head == "all" else f"of head {self.head}")
        if self.target is not None:
            parts.append(f"for target {self.target}")
        if self.seed is not None:
            parts.append(f"drawn with seed {self.seed}")
        return " ".join(parts)


class Catalogue:
    """The maps that a manifest tells of, sanity checks left aside."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self._sources = [_source(one) for one in manifest["sources"] if not one["check"]]
        self._rules: dict[tuple[Any, ...], list[str]] = {}
        for source in self._sources:
            self._rules.setdefault(source.name, []).append(source.rules)

    @property
    def models(self) -> list[str]:
        """Full names of the models, in the study's order."""
        return list(dict.fromkeys(source.model for source in self._sources))

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the study's order."""
        return list(dict.fromkeys(source.method for source in self._sources))

    @property
    def seeds(self) -> bool:
        """Whether any method draws random numbers."""
        return any(source.seed is not None for source in self._sources)

    def only_seed(self, seed: int) -> bool:
        """Say whether all that is drawn is drawn with this seed."""
        return {source.seed for source in self._sources} <= {seed, None}

    def group(self, model: str, method: str) -> str:
        """Return the group that a method belongs to."""
        found = (s.group for s in self._sources if (s.model, s.method) == (model, method))
        return next(found, "")

    def list_methods(self, group: str) -> tuple[str, ...]:
        """Return the methods of a group, in the study's order."""
        return tuple(dict.fromkeys(s.method for s in self._sources if s.group == group))

    def keys(self, models: Collection[str] | None, methods: Collection[str] | None) -> set[str]:
        """Return the keys of the sources of some models and methods."""
        return {
            source.key
            for source in self._sources
            if (models is None or source.model in models)
            and (methods is None or source.method in methods)
        }

    def find_models(self, text: str) -> tuple[str, ...]:
        """Return the model of a full name, or all variants of a base."""
        if text in self.models:
            return (text,)
        found = tuple(dict.fromkeys(s.model for s in self._sources if s.base == text))
        return found or refuse("model", text, self.models)

    def find_method(self, text: str) -> tuple[str, ...]:
        """Return the method of a name."""
        return (text,) if text in self.methods else refuse("method", text, self.methods)

    def where(
        self,
        *,
        model: str | None = None,
        method: str | None = None,
        layer: int | str | None = None,
        head: int | str | None = None,
        target: str | None = None,
        seed: int | None = None,
    ) -> Where:
        """Check names and numbers against what is stored."""
        models = None if model is None else self.find_models(model)
        methods = None if method is None else self.find_method(method)
        sources = [
            source
            for source in self._sources
            if (models is None or source.model in models)
            and (methods is None or source.method in methods)
        ]
        if not sources:
            known = dict.fromkeys(s.method for s in self._sources if s.model in (models or ()))
            refuse(f"{model} with method", method, known)
        number = layer if isinstance(layer, int) else None
        # Maps without layers, targets or seeds stand beside those of any that is stored.
        for what, value in (("layer", number), ("target", target), ("seed", seed)):
            _check(what, value, _known(what, sources) or _known(what, self._sources))
        if head != "all":
            _check("head", head, _known("head", sources))
        self._check_rules(sources)
        return Where(models, methods, number, head, target, seed)

    def _check_rules(self, sources: Iterable[_Source]) -> None:
        """Refuse to average scores that came about in different ways."""
        for source in sources:
            rules = self._rules[source.name]
            if len(rules) > 1:
                raise InputError(
                    f"{source.model} {source.method}: {len(rules)} kinds of scores are stored by "
                    f"this name (rules {', '.join(rules)}), and tables never mix them; "
                    "query the view `scores`"
                )


def _known(what: str, sources: Iterable[_Source]) -> set[int | str]:
    """Return the layers, heads, targets or seeds of some maps."""
    found: set[int | str | None] = set()
    for source in sources:
        if what in ("layer", "head"):
            found.update(source.layers if what == "layer" else source.heads)
        else:
            found.add(source.target if what == "target" else source.seed)
    return {one for one in found if one is not None and one != ""}


def _check(what: str, value: int | str | None, known: Iterable[int | str]) -> None:
    """Check a number or text, where one is given."""
    if value is not None and value not in known:
        refuse(what, value, sorted(known, key=lambda one: (isinstance(one, str), one)))


def _source(one: Mapping[str, Any]) -> _Source:
    return _Source(
        full_name(one),
        one["model"],
        one["method"],
        one["group"],
        one["target"],
        one["seed"],
        tuple(one["layers"]),
        tuple(one["heads"]),
        one["rules"],
        one["key"],
    )

"""What goes wrong, told as problem details (RFC 9457) that name the part of the request."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import Scope

from sightline.api.openapi import complete
from sightline.api.schemas import Answer, Problem
from sightline.api.schemas_review import ReviewConflict
from sightline.core import InputError, MissingPackageError, SightlineError, UnknownNameError

__all__ = [
    "BUSY",
    "MEDIA_TYPE",
    "PROBLEMS",
    "Refusal",
    "SENT",
    "add_handlers",
    "describe_problems",
    "described",
    "naming",
    "not_found",
    "of_store",
    "picture",
    "problem_response",
    "unexpected",
    "wrong",
]

MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("sightline")


def described(text: str, model: str = "Problem") -> dict[str, Any]:
    """Return what routes declare of a status whose answer is a problem."""
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"description": text, "content": {MEDIA_TYPE: {"schema": schema}}}


def picture(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """Return what routes declare whose answer is a picture of one of some media types."""
    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in kinds}
    return {200: {"description": "The picture.", "content": content}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    404: described("What the path names is not stored; `detail` says what is."),
    409: described("The store cannot answer this; `detail` says what it lacks."),
    422: described("A word of the query does not fit; `field` names it, `detail` what does."),
}
"""What routes declare beside their answer: ``router.get(..., responses=PROBLEMS)``."""
BUSY = described("Too much of this is being made already; ask again later.")
"""What routes declare as 429 that have work of their own."""
SENT: dict[int | str, dict[str, Any]] = {
    403: described("Asked by a page from elsewhere."),
    413: described("The body is too large."),
    415: described("The body must be application/json."),
}
"""What routes declare beside that if they take a body; see `sightline.api.writes`."""


class Refusal(SightlineError):  # noqa: N818 (an answer, and no error of the program)
    """An answer that is a problem.

    Attributes
    ----------
    status : int
        The HTTP status.
    field : str or None
        The part of the request that is wrong.
    """

    def __init__(self, status: int, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.field = status, field


def not_found(detail: str, field: str | None = None) -> Refusal:
    """Return the error for a thing of the path that is not there: 404."""
    return Refusal(404, detail, field)


def wrong(detail: str, field: str | None = None) -> Refusal:
    """Return the error for a word of the query that does not fit: 422."""
    return Refusal(422, detail, field)


@contextmanager
def naming(field: str, status: int = 422) -> Iterator[None]:
    """Turn what a block finds wrong with its input into a problem that names a field."""
    try:
        yield
    except (InputError, UnknownNameError) as error:
        raise Refusal(status, str(error), field) from error


@contextmanager
def of_store(*but: type[SightlineError]) -> Iterator[None]:
    """Turn what a block finds wrong, but for some errors, into a problem of the store: 409."""
    try:
        yield
    except but:
        raise
    except (InputError, UnknownNameError, OSError) as error:
        raise Refusal(409, str(error)) from error


def problem_response(
    status: int, detail: str, field: str | None = None, headers: dict[str, str] | None = None
) -> Response:
    """Return a problem as an answer."""
    problem = Problem(
        type="about:blank",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        field=field,
    )
    fresh = {"Cache-Control": "no-store", **(headers or {})}
    return Response(problem.model_dump_json(), status, fresh, MEDIA_TYPE)


def add_handlers(app: FastAPI) -> None:
    """Have a service tell all its errors as problems."""
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(SightlineError, _failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def describe_problems(app: FastAPI) -> None:
    """Have the schema of a service say what a problem is; its routes only name it."""
    usual = app.openapi

    def complete_schema() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        schema = usual()
        models = schema.setdefault("components", {}).setdefault("schemas", {})
        for model in (Problem, ReviewConflict):
            _define(models, model)
        for name in ("HTTPValidationError", "ValidationError"):
            models.pop(name, None)
        complete(schema)
        return schema

    app.openapi = complete_schema  # type: ignore[method-assign]


def _define(models: dict[str, Any], model: type[Answer]) -> None:
    """Add a model that only problems name, and what it is made of."""
    found = model.model_json_schema(
        mode="serialization", ref_template="#/components/schemas/{model}"
    )
    for name, part in (found.pop("$defs", {}) | {model.__name__: found}).items():
        models.setdefault(name, part)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)  # noqa: S101 (as registered)
    return problem_response(error.status, str(error), error.field)


def _failed(_: Request, error: Exception) -> Response:
    """Tell of an error that the library raised: of names and values the request is to blame."""
    if isinstance(error, MissingPackageError):
        return problem_response(501, str(error))
    return problem_response(422, str(error))


def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 (as registered)
    told: dict[str, list[str]] = {}
    for one in error.errors():
        field, text = _told(one)
        told.setdefault(field, []).append(text)
    seen = "; ".join(f"{field}: {', or '.join(texts)}" for field, texts in told.items())
    return problem_response(422, seen, next(iter(told), None))


def _told(one: dict[str, Any]) -> tuple[str, str]:
    """Return the name of a field, and what is wrong with it."""
    place, *names = (str(part) for part in one["loc"])
    field = names[0] if place != "body" and names else ".".join(names) or place
    message = str(one["msg"]).removeprefix("Value error, ")
    seen = one.get("input")
    shown = f"; got {str(seen)[:80]!r}" if isinstance(seen, str | int | float) else ""
    return field, f"{message[:1].lower()}{message[1:]}{shown}"


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (as registered)
    detail = str(error.detail)
    if error.status_code == 400:  # all that FastAPI itself says so of
        return problem_response(422, "body: must be JSON in UTF-8", "body")
    if error.status_code == 405:
        detail = f"{request.url.path} does not take {request.method}"
    return problem_response(error.status_code, detail, None, dict(error.headers or {}))


def unexpected(scope: Scope, error: Exception) -> Response:
    """Tell that something broke, without its inner life; the log has that."""
    _LOG.error("%s %r failed", scope["method"], scope["path"], exc_info=error)
    return problem_response(500, f"{type(error).__name__}; the log of the service says more")

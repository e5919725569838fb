"""Requests made at random out of the schema of the service, and what is wrong with the answers.

What `benchmarks.api_fuzz` asks, in each of its processes.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import time
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SHARE_OF_CHAINS, STEPS = 0.05, 8
# Characters of an address with which a request may be more than the HTTP server reads: 64 kB.
LONGEST_HEAD = 60_000
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


@dataclass
class Seen:
    """What was asked and answered."""

    cases: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    by_mode: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def add(self, other: Seen) -> None:
        for name in ("cases", "statuses", "by_mode", "seconds"):
            getattr(self, name).update(getattr(other, name))
        for name in ("wrong", "hung", "broken", "slowest"):
            getattr(self, name).extend(getattr(other, name))
        self.slowest = sorted(self.slowest, reverse=True)[:10]


@dataclass(frozen=True)
class Target:
    """Whom to ask, and with what."""

    address: str
    token: str
    secret: str
    names: dict[str, list[Any]]
    items: list[dict[str, Any]]
    proposals: dict[str, Any]
    hostile: list[str]
    patience: float

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


# --- what is asked --------------------------------------------------------------------------------


def attacks(folder: Path) -> list[str]:
    """Return words of attackers, about a folder with canaries."""
    climbing = ["../secret.txt", "../../secret.txt", "..%2fsecret.txt", "%2e%2e/%2e%2e/secret.txt"]
    climbing += ["..\\..\\secret.txt", "....//....//secret.txt", str(folder / "secret.txt")]
    climbing += [f"file://{folder}/secret.txt", "/proc/self/environ", "/etc/passwd", "secret.txt"]
    sql = ["' OR 1=1 --", "'; COPY (SELECT 1) TO 'x.csv'; --", "x' UNION SELECT getenv('HOME') --"]
    sql += [
        f"' UNION SELECT content FROM read_text('{folder}/secret.txt') --",
        '"; DROP VIEW scores',
    ]
    forms = ["{0.__class__}", "${jndi:ldap://x}", "%s%s%n", "$(touch pwned)", "`touch pwned`"]
    forms += ["<script>alert(1)</script>", "\r\nSet-Cookie: a=b", "a\x00b", "\u202e", "é" * 50]
    numbers = ["NaN", "-1", "1e999", "9" * 400, "0x10", "-0", "١٢"]
    return [*climbing, *sql, *forms, *numbers, "A" * 5000]


def with_names(words: Any, target: Target, path: str) -> Any:
    """Put stored names in the place of half of the values, and attacks in that of a fifth."""
    if not isinstance(words, dict) or not words:
        return words
    known = target.names | {"name": target.names.get(path.split("/")[2], [])}
    found = dict(words)
    for name, value in found.items():
        number = zlib.crc32(repr((name, value)).encode())
        turn, place = number % 10, number // 10
        if known.get(name) and turn < 5:
            found[name] = known[name][place % len(known[name])]
        elif turn in (5, 6) and (isinstance(value, str) or name in known):
            found[name] = target.hostile[place % len(target.hostile)]
    return found


def with_items(body: Any, target: Target, path: str) -> Any:
    """Put items of the review, and proposals, into bodies that are about them."""
    number = zlib.crc32(repr(body).encode())
    if path == "/api/review/proposals":
        return _proposals(body, target, number) if number % 3 else body
    body = with_names(body, target, path)
    if path == "/api/review/events" and isinstance(body, dict) and number % 3 and target.items:
        item = target.items[number // 3 % len(target.items)]
        body |= {"image": item["image"], "item": item["id"], "expected": item["version"]}
    return body


def _proposals(body: Any, target: Target, number: int) -> Any:
    """Return a file of proposals in which one thing was replaced by what was made at random."""
    found = json.loads(json.dumps(target.proposals))
    where = found["images"][0]["regions"][0] if number % 2 and found.get("images") else found
    where[sorted(where)[number // 2 % len(where)]] = body
    return found


def _hooks(target: Target) -> None:
    """Have schemathesis use the names of a service, in this process."""
    import schemathesis

    def map_query(context: Any, query: Any) -> Any:
        return with_names(query, target, context.operation.path)

    def map_path_parameters(context: Any, path_parameters: Any) -> Any:
        found = with_names(path_parameters, target, context.operation.path)
        return {k: "." if v == "" else v for k, v in found.items()} if found else found

    def map_body(context: Any, body: Any) -> Any:
        return with_items(body, target, context.operation.path)

    for one in (map_query, map_path_parameters, map_body):
        schemathesis.hook(one)


# --- asking ---------------------------------------------------------------------------------------


class Asker:
    """Asks the cases of one process, and notes what comes back."""

    def __init__(self, target: Target) -> None:
        import requests
        import schemathesis
        from schemathesis import checks

        from sightline.api.app import openapi_schema

        _hooks(target)
        self.target, self.session, self.count = target, requests.Session(), 0
        self.schema: Any = schemathesis.openapi.from_dict(openapi_schema())
        self.schema.config.update(base_url=target.address)
        self.checks = (
            checks.not_a_server_error,
            checks.status_code_conformance,
            checks.content_type_conformance,
            checks.response_schema_conformance,
            checks.response_headers_conformance,
        )

    def ask(self, case: Any, mode: str, seen: Seen) -> Any:
        """Ask one case; return the answer, None where there is none."""
        import requests

        name = f"{case.method.upper()} {case.operation.path}"
        self.count += 1
        seen.cases[name] += 1
        seen.by_mode[mode] += 1
        strange = mode != "chains" and self.count % 50 == 0
        headers = {} if strange else self.target.headers
        begun = time.perf_counter()
        try:
            answer = case.call(headers=headers, timeout=self.target.patience, session=self.session)
        except requests.Timeout:
            seen.hung.append(self._curl(case))
            return None
        except requests.RequestException as error:
            seen.broken.append(f"{type(error).__name__}: {self._curl(case)}")
            return None
        took = time.perf_counter() - begun
        seen.slowest = sorted([*seen.slowest, (took, self._curl(case)[:200])], reverse=True)[:10]
        seen.statuses[answer.status_code] += 1
        seen.seconds[name] += took  # type: ignore[assignment]
        self._judge(case, answer, seen, strange=strange)
        return answer

    def _judge(self, case: Any, answer: Any, seen: Seen, *, strange: bool) -> None:
        if answer.status_code == 400 and len(answer.request.url) > LONGEST_HEAD:
            return  # the HTTP server's own answer, before the service sees anything
        told = [f"{name} is missing" for name in HEADERS if not _has(answer, name)]
        if "default-src 'self'" not in str(_header(answer, "content-security-policy")):
            told.append("Content-Security-Policy is missing")
        if self.target.secret.encode() in answer.content:
            told.append("a file outside of the store was told")
        if strange and answer.status_code != 401:
            told.append(f"answered {answer.status_code} without the token")
        if not strange:
            told += self._violations(case, answer)
        seen.wrong += [f"{answer.status_code} {one}\n    {self._curl(case)}" for one in told]

    def _violations(self, case: Any, answer: Any) -> list[str]:
        try:
            case.validate_response(answer, checks=self.checks)
        except (Exception, BaseExceptionGroup) as error:
            parts = getattr(error, "exceptions", [error])
            return [f"{type(one).__name__}: {str(one)[:400]}" for one in parts]
        return []

    def _curl(self, case: Any) -> str:
        return str(case.as_curl_command(headers={}))[:1000]


def _header(answer: Any, name: str) -> Any:
    found = answer.headers.get(name.lower()) or answer.headers.get(name)
    return found[0] if isinstance(found, list) else found


def _has(answer: Any, name: str) -> bool:
    return bool(_header(answer, name) == HEADERS[name])


_ASKER: list[Asker] = []


def begin(target: Target) -> None:
    """Prepare a process that asks."""
    _ASKER.append(Asker(target))


def ask_operation(task: tuple[str, str, str, int, int]) -> Seen:
    """Ask one operation so many times, with data that fit or do not."""
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from schemathesis import GenerationMode

    path, method, mode, count, number = task
    asker, seen = _ASKER[0], Seen()
    how = settings(
        max_examples=count, phases=[Phase.generate], deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    cases = asker.schema[path][method].as_strategy(generation_mode=GenerationMode(mode))

    @seed(number)
    @how
    @given(case=cases)
    def ask(case: Any) -> None:
        asker.ask(case, mode, seen)

    ask()
    return seen


def ask_chains(task: tuple[int, int]) -> Seen:
    """Ask chains of operations: what one answers, another is asked about."""
    from hypothesis import HealthCheck, Phase, seed, settings
    from hypothesis.errors import Flaky
    from hypothesis.stateful import run_state_machine_as_test

    count, number = task
    asker, seen = _ASKER[0], Seen()

    class Chains(asker.schema.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": asker.target.headers}

        def call(self, case: Any, **_: Any) -> Any:
            return asker.ask(case, "chains", seen)

        def validate_response(self, response: Any, case: Any, **_: Any) -> None:
            pass  # judged when it was asked

    how = settings(
        max_examples=5, stateful_step_count=STEPS, phases=[Phase.generate],
        deadline=None, database=None, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    for attempt in range(count):
        if seen.cases.total() >= count:
            break
        with suppress(Flaky):  # what can be asked next depends on what others did meanwhile
            run_state_machine_as_test(seed(1000 * number + attempt)(Chains), settings=how)
    return seen


def ask_all(target: Target, cases: int, processes: int, number: int, only: str = "") -> Seen:
    """Ask until there were enough cases, of paths that have a word in them; tell how far it is."""
    from sightline.api.app import openapi_schema

    paths = openapi_schema()["paths"].items()
    operations = [(path, method) for path, methods in paths for method in methods if only in path]
    seen, round_ = Seen(), 0
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, begin, (target,)) as pool:
        each = int(cases * SHARE_OF_CHAINS) // processes
        for one in pool.imap_unordered(ask_chains, [(each, number + n) for n in range(processes)]):
            seen.add(one)
        while (left := cases - seen.cases.total()) > 0:
            each = max(left // (2 * len(operations)) + 1, 3)
            tasks = [
                (path, method, mode, each, number + 1000 * round_ + place)
                for place, (path, method) in enumerate(operations)
                for mode in ("positive", "negative")
            ]
            random.Random(number + round_).shuffle(tasks)
            for one in pool.imap_unordered(ask_operation, tasks):
                seen.add(one)
                print(f"\r{seen.cases.total():,} cases", end="", file=sys.stderr, flush=True)
            round_ += 1
    print(file=sys.stderr)
    return seen

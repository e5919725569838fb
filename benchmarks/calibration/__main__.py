"""Run the simulations: ``python -m benchmarks.calibration [--repeats 2000] [part ...]``."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module

from benchmarks.calibration.lines import table

PARTS = ("nulls", "intervals", "comparisons", "sparse", "detection")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="part", help=", ".join(PARTS))
    parser.add_argument("--repeats", type=int, default=2000, help="simulations for each rate")
    parser.add_argument("--small", action="store_true", help="the small version that tests run")
    arguments = parser.parse_args()
    missed = 0
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"{part}: must be one of {', '.join(PARTS)}")
        begin = time.perf_counter()
        run = import_module(f"benchmarks.calibration.{part}").run
        lines = run(arguments.repeats, small=arguments.small)
        missed += sum(not line.holds for line in lines)
        print(f"## {part}\n\n{table(lines)}\n")
        print(f"{arguments.repeats} repeats, {time.perf_counter() - begin:.0f} s\n", flush=True)
    print(f"{missed} missed" if missed else "all promises kept")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

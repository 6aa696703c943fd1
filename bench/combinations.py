"""Random combinations of flags on tiny and public modules: how many end well.

    ./mw bench combinations --count 10000 --first 0 --modules tiny

Each is told by its number: `--first N --count 1` does it again.
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "e2e"))

from _machine import describe
from combination_modules import HELD_OUT, PUBLIC, TINY, ZOO, facts
from combination_oracle import Oracle
from combinations import draw
from tqdm import tqdm

GROUPS = {"tiny": TINY, "zoo": ZOO, "public": PUBLIC, "held-out": HELD_OUT}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--modules", default="tiny", help="a group, or names")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print every command")
    options = parser.parse_args()
    modules = GROUPS.get(options.modules) or options.modules.split(",")
    for module in modules:  # Lowered one after the other.
        facts(module)
    oracle = Oracle()
    started = time.monotonic()
    failed: Counter[str] = Counter()

    def judge(number: int) -> None:
        case = draw(number, modules)
        begin = time.monotonic()
        failure = oracle.judge(case)
        if options.show:
            tqdm.write(f"{number} {time.monotonic() - begin:.1f} s {case.shell()}")
        if failure is not None:
            failed[failure.what.split(":")[0]] += 1
            tqdm.write(str(failure))

    with ThreadPoolExecutor(options.jobs) as pool:
        numbers = range(options.first, options.first + options.count)
        list(tqdm(pool.map(judge, numbers), total=options.count, mininterval=10))
    seconds = time.monotonic() - started
    print(f"{describe()}; {options.count} combinations in {seconds:.0f} s")
    for what, count in sorted(oracle.counts.items()):
        print(f"  {count:6} {what}")
    print(f"{sum(failed.values())} failed")
    for what, count in failed.most_common():
        print(f"  {count:6} {what}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Processor time of the practice queries with and without walks on the host, in turn.

    python tests/benchmarks/walks.py [--pairs N] [--runs N] [--scale X] [--domain NAME]

Prints the least milliseconds of each query in both forms, and the geometric mean of their ratios. Rows
are compared. The processor time of one process is steady on a busy machine.
"""

from __future__ import annotations

import argparse
import statistics
import time

import gpugda
from gpugda.bench.answers import answer_of, difference
from gpugda.bench.practice.domains import DOMAINS, domain_cases, domain_graph
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.thresholds import CPU

_MOST_ROWS = 10_000
_WARM_UP = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=CPU.join.walked_pairs)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--domain", choices=list(DOMAINS))
    options = parser.parse_args()
    ratios: list[float] = []
    for domain in [options.domain] if options.domain else DOMAINS:
        with gpugda.connect(domain_graph(domain, options.scale)) as accelerator:
            for case in domain_cases(domain):
                launched, walked = times_of(accelerator, case, options.pairs, options.runs)
                ratios.append(walked / launched)
                print(f"{domain}: {case.name}: {launched:.2f} ms, {walked:.2f} ms", flush=True)
    mean, slower = statistics.geometric_mean(ratios), sum(each > 1.1 for each in ratios)
    print(
        f"{len(ratios)} queries: {mean:.2f} of the time; {slower} take more than 1.1 times as long"
    )


def times_of(accelerator, case, pairs, runs):
    """Least milliseconds of processor time with launches alone and with walks of so many pairs."""
    text, rows = case.text("walks"), {}
    times: dict[int, list[float]] = {0: [], pairs: []}
    for run in range(_WARM_UP + runs):
        for most in (0, pairs) if run % 2 else (pairs, 0):
            ExtendStrategy.walked_pairs = most
            started = time.process_time()
            rows[most] = accelerator.run(text, case.parameters, engine="gpu").values()
            times[most].append(time.process_time() - started)
    answers = [answer_of(rows[most], _MOST_ROWS, lists_unordered=True) for most in (0, pairs)]
    what, _ = difference(*answers, None)
    assert not what, f"{case.name}: {what}"
    return [1e3 * min(times[most][_WARM_UP:]) for most in (0, pairs)]


if __name__ == "__main__":
    main()

"""Random conditions on paths: the device against the reference, and Neo4j.

    python tests/conformance/random_paths.py --queries 5000 --seed 7
    python tests/conformance/random_paths.py --queries 5000 --neo4j bolt://localhost:7687

``--neo4j`` may be given several times. Graphs are made in transactions that are rolled back; the
database has to be empty. Plans depend on what Neo4j knows of the committed graph, which is nothing
then. The exit status is 1 if answers differ.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from made_path_queries import KINDS
from path_runs import compare_paths


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--neo4j", action="append", default=[], help="address of an empty database")
    parser.add_argument("--without-device", action="store_true")
    given = parser.parse_args()
    engines = () if given.without_device else ("gpu",)
    failed = False
    with ExitStack() as stack:
        drivers = {}
        for address in given.neo4j:
            import neo4j

            driver = neo4j.GraphDatabase.driver(
                address, auth=None, notifications_min_severity="OFF"
            )
            drivers[address] = stack.enter_context(driver)
        for kind in given.kind or KINDS:
            findings = compare_paths(given.seed, given.queries, kind, engines, drivers)
            for each in (*findings.differences, *findings.errors[:20]):
                print(each)
            for construct, count in findings.refused.most_common(20):
                print(f"refused {count} times: {construct}")
            print(
                f"{kind}: {given.queries} queries, {findings.rows} rows, {findings.answered}"
                f" answers compared, {findings.refused.total()} refused, {findings.late} too late,"
                f" {findings.ties} differ by the path taken,"
                f" {len(findings.errors)} where one fails, {len(findings.differences)} different",
                flush=True,
            )
            failed |= bool(findings.differences)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

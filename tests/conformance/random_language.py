"""Random queries of the whole read language: the device against the reference, and Neo4j.

    python tests/conformance/random_language.py --queries 50000 --seed 7
    python tests/conformance/random_language.py --queries 5000 --neo4j bolt://localhost:7687

The database behind ``--neo4j`` is WIPED. Refusals by the device are counted by construct. The exit
status is 1 if answers differ.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from language_runs import compare


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--neo4j", help="address of a database that is wiped and compared as well")
    parser.add_argument("--without-device", action="store_true")
    given = parser.parse_args()
    engines = () if given.without_device else ("gpu",)
    if given.neo4j is None:
        findings = compare(given.seed, given.queries, None, engines)
    else:
        import neo4j

        quiet = {"auth": None, "notifications_min_severity": "OFF"}
        with (
            neo4j.GraphDatabase.driver(given.neo4j, **quiet) as driver,
            driver.session() as session,
        ):
            findings = compare(given.seed, given.queries, session, engines)
    for difference in findings.differences:
        print(difference)
    for text in findings.stricter[:5]:
        print(f"Neo4j does not compile {text}")
    for text in findings.only_one_fails[:40]:
        print(f"only one fails: {text}")
    for construct, count in findings.refused.most_common(20):
        print(f"refused {count} times: {construct}")
    print(
        f"{given.queries} queries, {findings.rows} rows, {findings.answered} answers compared,"
        f" {findings.errors} of them errors, {findings.refused.total()} refused,"
        f" {len(findings.stricter)} not compiled by Neo4j,"
        f" {len(findings.only_one_fails)} where one fails,"
        f" {findings.late} too long for the reference, {len(findings.differences)} different"
    )
    return 1 if findings.differences else 0


if __name__ == "__main__":
    sys.exit(main())

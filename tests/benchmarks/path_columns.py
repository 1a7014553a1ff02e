"""Times what queries do with paths beside `count(*)` of the same pattern, on one generated graph.

The graph is like an Active Directory: users, groups and computers; MemberOf, AdminTo, HasSession.
Every answer is compared with the reference's on a graph a tenth as large.

    python tests/benchmarks/path_columns.py [--scale 1.0] [--rounds 3] [--only TEXT]
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

import gpugda

CHAIN = "MATCH p = (u:User)-[:MemberOf]->()-[:MemberOf*0..2]->()-[:AdminTo]->()-[:HasSession]->(v)"
NESTED = "MATCH p = (g:Group)-[:MemberOf*1..6]->(h:Group)"
SHORT = "MATCH p = (u:User)-[r:MemberOf*1..2]->(g:Group)"
STEP = "MATCH p = (u:User)-[r:MemberOf]->(g:Group)"

PATTERNS = {
    f"{CHAIN} WHERE v.spn": ("count(p)", "DISTINCT p LIMIT 3"),
    NESTED: ("count(p)", "DISTINCT p LIMIT 3", "sum(length(p))", "count(DISTINCT p)"),
    SHORT: (
        "count(p)",
        "count(r)",
        "DISTINCT p LIMIT 3",
        "count(DISTINCT p)",
        "count(DISTINCT r)",
        "g.i AS i, count(p) AS c ORDER BY c DESC, i LIMIT 5",
        "sum(length(p))",
        "sum(size(nodes(p)))",
        "sum(size(relationships(p)))",
        "sum(size([n IN nodes(p) | n.i]))",
        "sum(reduce(s = 0, n IN nodes(p) | s + n.i))",
        "sum(nodes(p)[0].i)",
        "sum(head(nodes(p)).i + last(nodes(p)).i)",
        "sum(CASE WHEN all(n IN nodes(p) WHERE n.i >= 0) THEN 1 ELSE 0 END)",
        "sum(CASE WHEN any(n IN nodes(p) WHERE n.i = 1) THEN 1 ELSE 0 END)",
        "sum(CASE WHEN none(x IN relationships(p) WHERE x.w = 1) THEN 1 ELSE 0 END)",
        "sum(CASE WHEN single(n IN nodes(p) WHERE n:User) THEN 1 ELSE 0 END)",
        "sum(CASE WHEN g IN nodes(p) THEN 1 ELSE 0 END)",
        "size(collect(p))",
        "size(collect(nodes(p)))",
        "size(collect(DISTINCT p))",
        "g.i AS i, size(collect(p)) AS c ORDER BY c DESC, i LIMIT 5",
    ),
    STEP: ("count(p)", "count(r)", "g.i, count(p) AS n ORDER BY n DESC, g.i LIMIT 5"),
}
UNWOUND = (
    "UNWIND nodes(p) AS n RETURN count(n)",
    "UNWIND nodes(p) AS n RETURN sum(n.i)",
    "UNWIND relationships(p) AS x RETURN count(DISTINCT x)",
    "UNWIND nodes(p) AS n RETURN DISTINCT n.i AS i ORDER BY i LIMIT 3",
    "WITH collect(p) AS ps UNWIND ps AS q RETURN sum(length(q))",
    "WITH p, nodes(p) AS ns WHERE size(ns) > 2 RETURN count(*)",
    "WITH p AS q RETURN sum(length(q))",
    "WITH DISTINCT p RETURN count(*)",
    "WITH nodes(p) AS ns, count(*) AS c RETURN sum(c)",
)


def directory(scale: float, seed: int = 7) -> Any:
    """About 5,000 nodes and 22,000 relationships at scale 1."""
    drawn = random.Random(seed)
    users, groups, computers = (max(4, round(each * scale)) for each in (3000, 500, 1500))
    count = users + groups + computers
    first_group, first_computer = users, users + groups
    rows: list[tuple[int, int, str]] = []
    for user in range(users):
        # A few groups have most members.
        chosen = [int(groups * drawn.random() ** 3) for _ in range(drawn.randint(1, 6))]
        rows += [(user, first_group + group, "MemberOf") for group in chosen]
    for group in range(groups):
        for _ in range(drawn.randint(0, 4)):
            other = drawn.randrange(groups)
            if other != group:
                rows.append((first_group + group, first_group + other, "MemberOf"))
        for _ in range(drawn.randint(0, 12)):
            computer = first_computer + drawn.randrange(computers)
            rows.append((first_group + group, computer, "AdminTo"))
    for computer in range(computers):
        chosen = [drawn.randrange(users) for _ in range(drawn.randint(0, 9))]
        rows += [(first_computer + computer, user, "HasSession") for user in chosen]
    labels = ["User"] * users + ["Group"] * groups + ["Computer"] * computers
    nodes = {
        "id": list(range(count)),
        "label": labels,
        "i": list(range(count)),
        "spn": [each == "User" and drawn.random() < 0.1 for each in labels],
    }
    sources, targets, types = (list(each) for each in zip(*rows, strict=True))
    weights = [drawn.randrange(5) for _ in rows]
    relationships = {"source": sources, "target": targets, "type": types, "w": weights}
    return gpugda.graph(nodes=nodes, relationships=relationships, labels="label")


def queries() -> list[tuple[str, str]]:
    """Pairs of a query and `count(*)` of its pattern."""
    made = [(f"{p} RETURN {e}", f"{p} RETURN count(*)") for p, es in PATTERNS.items() for e in es]
    return made + [(f"{SHORT} {rest}", f"{SHORT} RETURN count(*)") for rest in UNWOUND]


def answer(accelerator: Any, text: str, engine: str) -> list[str]:
    """The rows as sorted texts; of an arbitrary LIMIT only their number."""
    rows = [str(record.values()) for record in accelerator.run(text, engine=engine)]
    return [str(len(rows))] if "p LIMIT" in text else sorted(rows)


def seconds(accelerator: Any, texts: tuple[str, str], rounds: int) -> list[float]:
    """The least time of each text, in turn, after a run that compiles."""
    taken: list[list[float]] = [[] for _ in texts]
    for _ in range(rounds + 1):
        for place, text in enumerate(texts):
            started = time.perf_counter()
            answer(accelerator, text, "gpu")
            taken[place].append(time.perf_counter() - started)
    return [min(each[1:]) for each in taken]


def main() -> None:
    """Prints a line per query."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    chosen = [each for each in queries() if options.only in each[0]]
    with gpugda.connect(directory(0.1)) as small:
        for text, _ in chosen:
            expected, found = (answer(small, text, each) for each in ("reference", "gpu"))
            assert found == expected, (text, found, expected)
    print(f"{'ms':>9} {'count(*)':>9} {'ratio':>8}")
    with gpugda.connect(directory(options.scale)) as large:
        for texts in chosen:
            taken, counted = seconds(large, texts, options.rounds)
            text, _ = texts
            print(f"{taken * 1e3:9.1f} {counted * 1e3:9.1f} {taken / counted:8.1f}  {text}")


if __name__ == "__main__":
    main()

"""All shortest paths between 10,000 pairs on wiki-Vote, beside Ladybug in one run.

    pytest tests/benchmarks/test_paths.py -m slow -s

Both engines join the same pairs and must count the same. The graph's file is looked for as in `peer_graphs`.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.peer_graphs import GRAPHS

import gpugda

ENDS = 100
QUERIES = {
    "all shortest paths of 10,000 pairs": (
        "MATCH (a:N {f: true}), (b:N {t: true}) WHERE a <> b"
        " MATCH p = allShortestPaths((a)-[:R*..20]->(b)) RETURN count(*)",
        "MATCH p = (a:N {f: true})-[:R* ALL SHORTEST 1..20]->(b:N {t: true}) WHERE a.id <> b.id"
        " RETURN count(*)",
    ),
}


def _tables() -> tuple[dict[str, list[object]], dict[str, list[object]]]:
    graph = GRAPHS["wiki-Vote"][1]()
    if graph is None:
        pytest.skip("the file of wiki-Vote is not there")
    count = len(graph.label_set_of)
    random = np.random.default_rng(1)

    def chosen(size: int) -> list[object]:
        flags = np.zeros(count, dtype=bool)
        flags[random.choice(count, size, replace=False)] = True
        return list(flags.tolist())

    ids: list[object] = list(range(count))
    nodes = {"id": ids, "f": chosen(ENDS), "t": chosen(ENDS)}
    return nodes, {"source": graph.source.tolist(), "target": graph.target.tolist()}


def _gpugda(nodes: dict[str, list[object]], ends: dict[str, list[object]]) -> Callable[[str], int]:
    source = gpugda.graph(
        nodes={**nodes, "labels": [["N"]] * len(nodes["id"])},
        relationships={**ends, "type": ["R"] * len(ends["source"])},
    )
    accelerator = gpugda.connect(source)
    return lambda text: int(next(iter(accelerator.run(text, engine="gpu")))[0])


def _ladybug(nodes: dict[str, list[object]], ends: dict[str, list[object]]) -> Callable[[str], int]:
    import ladybug
    import pyarrow as pa

    connection = ladybug.Connection(ladybug.Database(buffer_pool_size=1 << 32))
    columns = "id INT64, f BOOL, t BOOL, PRIMARY KEY(id)"
    connection.execute(f"CREATE NODE TABLE N({columns})")
    connection.execute("COPY N FROM $rows", {"rows": pa.table(nodes)})
    connection.execute("CREATE REL TABLE R(FROM N TO N)")
    connection.execute("COPY R FROM $rows", {"rows": pa.table(ends)})
    return lambda text: int(connection.execute(text).get_next()[0])


def _timed(ask: Callable[[str], int], text: str) -> tuple[int, float]:
    """The count, and the better of two times."""
    seconds = []
    for _ in range(2):
        begun = time.perf_counter()
        count = ask(text)
        seconds.append(time.perf_counter() - begun)
    return count, min(seconds)


@pytest.mark.slow
def test_counts_beside_ladybug() -> None:
    if importlib.util.find_spec("ladybug") is None:
        pytest.skip("ladybug is not installed (pip install 'gpugda[peers]')")
    tables = _tables()
    own, other = _gpugda(*tables), _ladybug(*tables)
    for name, (text, peer_text) in QUERIES.items():
        count, seconds = _timed(own, text)
        peer_count, peer_seconds = _timed(other, peer_text)
        ratio = peer_seconds / seconds
        print(f"{name}: {count:,} gpugda {seconds:.3f} s Ladybug {peer_seconds:.3f} s {ratio:.1f}x")
        assert count == peer_count, name

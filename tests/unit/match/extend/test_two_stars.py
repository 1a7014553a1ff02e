"""Degrees in the millions."""

import numpy as np
import pytest
from unit.match.test_stopping import star_source

import gpugda
from gpugda.device.context import list_devices

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]


@pytest.mark.slow
@pytest.mark.parametrize("reverse", [False, True], ids=["from the hubs", "to the hubs"])
def test_two_stars_of_large_degree_are_counted(reverse):
    n = 3_000_000
    out, into = ("-->", "<--") if not reverse else ("<--", "-->")
    source = star_source(n)
    if reverse:
        source = reversed_source(n)
    with gpugda.connect(source, memory_limit="512MiB") as stars:
        for text, expected in {
            f"MATCH (a){out}(b) RETURN count(*)": 2 * n,
            f"MATCH (b){into}(a){out}(c) RETURN count(*)": 2 * n * (n - 1),
            f"MATCH (a){out}(b){into}(c) RETURN count(*)": 2 * n,
            f"MATCH (a){into}(b){into}(c) RETURN count(*)": 0,
            f"MATCH (a){out}(b) RETURN count(DISTINCT b)": n,
        }.items():
            assert stars.run(text, engine="gpu").single().value() == expected
        some = stars.run(f"MATCH (b){into}(a){out}(c) RETURN b.id, c.id SKIP 4000000 LIMIT 3")
        assert all(b != c and min(b, c) > 1 for b, c in some.values())


def reversed_source(leaves):
    source = np.tile(np.arange(2, leaves + 2), 2)
    target = np.repeat([0, 1], leaves)
    types = np.full(2 * leaves, "R", dtype=object)
    columns = {"source": source, "target": target, "type": types}
    return gpugda.graph({"id": np.arange(leaves + 2)}, columns)

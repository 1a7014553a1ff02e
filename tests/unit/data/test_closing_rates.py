"""Rates at which the ends of short paths are connected."""

from itertools import permutations

import pytest
from graphs import make_graph

from gpugda.data.statistics import counting
from gpugda.data.statistics.graph_statistics import (
    ANY,
    GraphStatistics,
)


def graph(count, pairs, kinds=("R",)):
    nodes = [((), {})] * count
    rows = [(s, kinds[i % len(kinds)], e, {}) for i, (s, e) in enumerate(pairs)]
    return make_graph(nodes, rows)


CLIQUE = list(permutations(range(20), 2))


def test_a_clique_has_a_closing_rate_of_1():
    found = graph(500, CLIQUE).statistics
    # A node has each neighbour twice, once per direction: these are not paths to another node.
    assert found.closing_rates[2, ANY] == pytest.approx(1.0)
    assert found.closing_rates[3, ANY] == pytest.approx(1.0)
    assert found.outgoing_degrees[ANY].reached == pytest.approx(19.0)
    assert found.incoming_degrees[0].reached == pytest.approx(19.0)


def test_a_tree_has_a_closing_rate_of_0():
    assert graph(100, [(i // 2, i) for i in range(1, 100)]).statistics.closing_rates == {}


def test_a_square_closes_paths_of_three_but_not_of_two():
    found = graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)]).statistics.closing_rates
    assert (2, ANY) not in found
    assert found[3, ANY] == pytest.approx(0.5)  # in one of the two directions


def test_closing_rates_are_kept_per_type():
    found = graph(500, CLIQUE, kinds="RST").statistics
    each = [found.closing_rates[2, kind] for kind in range(3)]
    assert sum(each) == pytest.approx(found.closing_rates[2, ANY])
    assert all(rate == pytest.approx(1 / 3, abs=0.1) for rate in each)


@pytest.mark.parametrize("pairs", [[], [(0, 0)], [(0, 1)], [(0, 1), (0, 1)], [(0, 0), (0, 0)]])
def test_a_graph_without_paths_has_no_closing_rates(pairs):
    assert graph(2, pairs).statistics.closing_rates == {}


def test_nodes_with_very_many_types_are_sampled_less(monkeypatch):
    found = [0]
    searched = counting._searched

    def noted(csr, low, *rest):
        found[0] = max(found[0], len(low))
        return searched(csr, low, *rest)

    monkeypatch.setattr(counting, "_searched", noted)
    monkeypatch.setattr(counting, "_MAX_RUNS", 10_000)
    kinds = [f"T{i}" for i in range(40)]
    rows = [(s, kind, e, {}) for s in range(8) for e in range(8) for kind in kinds if s != e]
    rates = make_graph([((), {})] * 8, rows).statistics.closing_rates
    assert 1_000 < found[0] <= 10_000
    assert rates[2, ANY] == pytest.approx(40, rel=0.2)
    assert rates[2, 7] == pytest.approx(1, rel=0.2)


def test_samples_are_deterministic_and_survive_json():
    one, other = (graph(500, CLIQUE).statistics for _ in range(2))
    assert one == other == GraphStatistics.from_dict(one.to_dict())


def test_statistics_without_closing_rates_are_read():
    kept = graph(500, CLIQUE).statistics.to_dict()
    del kept["closing_rates"]
    kept["outgoing_degrees"] = [row[:4] for row in kept["outgoing_degrees"]]
    found = GraphStatistics.from_dict(kept)
    assert found.closing_rates == {}
    assert found.outgoing_degrees[ANY].reached == 0.0

"""When neighbours of candidates are explored before the join."""

from dataclasses import replace

import numpy as np
import pytest
from bound_queries import Node, Relationship, make_plan
from graphs import make_graph

from gpugda.match.candidates.encode import Exploration
from gpugda.match.embeddings import Masks
from gpugda.match.extend.filter import exploration_pays, with_counted_cardinalities
from gpugda.thresholds import CPU, GPU

NO_MASKS = Masks({}, {})


@pytest.fixture(scope="module")
def graph():
    return make_graph(
        [("A", {})] * 1000, [(at % 1000, "R", at * 7 % 1000, {}) for at in range(5000)]
    )


def path(*cardinalities, relationship=5000.0):
    nodes = [Node((), each) for each in cardinalities]
    links = [Relationship(at, at + 1) for at in range(len(nodes) - 1)]
    bound = make_plan(nodes, links).bound
    estimated = tuple(replace(each, cardinality=relationship) for each in bound.relationships)
    return replace(bound, relationships=estimated)


def mask(count):
    flags = np.zeros(1024, bool)
    flags[:count] = True
    return np.packbits(flags, bitorder="little").view(np.uint32)


def test_counts_of_masks_replace_estimates(graph):
    bound = path(1000.0, 1000.0)
    assert with_counted_cardinalities(bound, NO_MASKS, graph) is bound
    counted = with_counted_cardinalities(bound, Masks({0: mask(10)}, {}), graph)
    assert [each.cardinality for each in counted.nodes] == [10.0, 1000.0]
    assert counted.relationships[0].cardinality == pytest.approx(50.0)
    few = np.array([0b111], dtype=np.uint32)
    counted = with_counted_cardinalities(bound, Masks({}, {0: few}), graph)
    assert counted.relationships[0].cardinality == 3.0


def pays(bound, graph, leaves, thresholds):
    return exploration_pays(Exploration(bound), graph, leaves, thresholds.filter)


def test_only_selective_filters_pay(graph):
    assert not pays(path(1000.0, 1000.0, 1000.0), graph, tuple, CPU)
    assert pays(path(10.0, 1000.0, 1000.0, relationship=50.0), graph, tuple, CPU)


def test_a_filter_must_cost_less_than_the_join(graph):
    few_rows = path(200.0, 1000.0, relationship=1e6)
    assert not pays(few_rows, graph, tuple, CPU)
    many_rows = path(*[200.0] * 5, relationship=1e6)
    assert pays(many_rows, graph, tuple, CPU)
    leaves_multiplied = path(200.0, 1000.0, 1000.0, relationship=1e6)
    assert not pays(leaves_multiplied, graph, lambda: {0, 2}, CPU)


def test_many_candidates_are_filtered_before_a_long_join(graph):
    assert pays(path(*[600.0] * 5, relationship=9000.0), graph, tuple, CPU)
    assert not pays(path(*[600.0] * 3, relationship=6000.0), graph, tuple, CPU)
    assert not pays(path(*[900.0] * 5, relationship=9000.0), graph, tuple, CPU)


def test_filters_pay_sooner_on_a_gpu(graph):
    few_rows = path(200.0, 1000.0, relationship=1e6)
    assert pays(few_rows, graph, tuple, GPU)

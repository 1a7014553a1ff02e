"""Compares the oracle of the peers' benchmark with all assignments of relationships."""

import random
from itertools import permutations, product
from unittest import mock

import numpy as np
import pytest
from benchmarks import homomorphisms
from benchmarks.peer_graphs import GRAPHS, PeerGraph
from benchmarks.peer_oracle import CONDITION, OPERATORS, oracle_count
from benchmarks.peer_queries import motifs, parse, star_count
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import examples

MAX_UNDIRECTED = 5
"""Maximum undirected steps: both directions in all orders of the relationships are many cases."""
MOTIFS = [
    motif
    for kind in dict.fromkeys(kind for kind, _ in GRAPHS.values())
    for motif in motifs(kind)
    if sum(not each.directed for each in motif.steps) <= MAX_UNDIRECTED
]
VALUES = {
    "rank": [None, 0, 4, 7, 19, 50, 96],
    "name": [None, "cat", "dog", "hormone", "usa"],
    "weight": [1, 40, 99],
    "sense": [None, 1, 2],
}
PIECES = [4, homomorphisms.PIECE]


# ------------------------------------------------------------------ Cypher's definition
def brute_force(motif, graph):
    count = 0
    for chosen in permutations(range(len(graph.source)), len(motif.steps)):
        if not all(typed(graph, *each) for each in zip(motif.steps, chosen, strict=True)):
            continue
        ways = [ends(graph, *each) for each in zip(motif.steps, chosen, strict=True)]
        count += sum(matches(motif, graph, chosen, each) for each in product(*ways))
    return count


def typed(graph, step, relationship):
    return not step.types or graph.types[graph.type_of[relationship]] in step.types


def ends(graph, step, relationship):
    way = int(graph.source[relationship]), int(graph.target[relationship])
    return {way} if step.directed else {way, way[::-1]}


def matches(motif, graph, chosen, ways):
    bound = {}
    for step, (source, target) in zip(motif.steps, ways, strict=True):
        if bound.setdefault(step.source, source) != source:
            return False
        if bound.setdefault(step.target, target) != target:
            return False
    for name, label in motif.labels.items():
        if label and label not in graph.label_sets[graph.label_set_of[bound[name]]]:
            return False
    found = {step.name: at for step, at in zip(motif.steps, chosen, strict=True)}
    return all(holds(each, graph, bound, found) for each in motif.conditions)


def holds(condition, graph, nodes, relationships):
    left, sign, right = condition.split(" ")

    def value(text):
        if "." not in text:
            return text[1:-1] if text.startswith("'") else int(text)
        name, key = text.split(".")
        if name in nodes:
            return graph.node_columns[key][nodes[name]]
        return graph.relationship_columns[key][relationships[name]]

    pair = value(left), value(right)
    return None not in pair and bool(OPERATORS[sign](*pair))


# ------------------------------------------------------------------ the queries of the benchmark
def planted(motif, seed):
    """A small graph of the motif's kind, with an embedding of it and two further relationships."""
    draw = random.Random(f"{motif.text} {seed}")
    found = {step.name: at for at, step in enumerate(motif.steps)}
    for _ in range(10_000):
        graph, place = drawn(motif, draw)
        if all(holds(each, graph, place, found) for each in motif.conditions):
            return graph
    pytest.fail(f"no values for {motif.conditions}")


def drawn(motif, draw):
    """A random graph; query nodes of one label may coincide; the conditions may hold or not."""
    labels = sorted({each for each in motif.labels.values() if each} - {"Synset"})
    synsets = ("Noun", "Verb", "Adjective")
    label_sets = [("Synset", each) if each in synsets else (each,) for each in labels]
    label_sets += [("Synset",), ("unlabelled",)]
    place, label_set_of = {}, []
    for name, label in motif.labels.items():
        alike = [at for other, at in place.items() if motif.labels[other] == label]
        if alike and draw.random() < 0.3:
            place[name] = draw.choice(alike)
        else:
            place[name] = len(label_set_of)
            fitting = [at for at, each in enumerate(label_sets) if not label or label in each]
            label_set_of.append(draw.choice(fitting))
    types = sorted({each for step in motif.steps for each in step.types} | {"other"})
    rows = [
        (place[step.source], place[step.target], types.index(draw.choice(step.types or types)))
        for step in motif.steps
    ]
    nodes = range(len(label_set_of))
    rows += [(draw.choice(nodes), draw.choice(nodes), draw.randrange(len(types))) for _ in "ab"]
    source, target, type_of = np.array(rows).T

    def column(key, size):
        return np.array([draw.choice(VALUES[key]) for _ in range(size)], dtype=object)

    properties = (
        {key: column(key, len(nodes)) for key in ("rank", "name")},
        {key: column(key, len(rows)) for key in ("weight", "sense")},
    )
    ends = (source, target)
    return PeerGraph(label_sets, np.array(label_set_of), types, type_of, *ends, *properties), place


@pytest.mark.slow  # of use to benchmarks alone; random queries remain
@pytest.mark.parametrize("motif", MOTIFS, ids=lambda motif: f"{motif.kind}, {motif.name}")
def test_the_oracle_counts_each_query_of_the_benchmark(motif):
    for seed in range(4):
        graph = planted(motif, seed)
        expected = brute_force(motif, graph)
        assert expected > 0
        for piece in PIECES:
            with mock.patch.object(homomorphisms, "PIECE", piece):
                assert oracle_count(motif, graph) == expected


# ------------------------------------------------------------------ any query, any graph
@st.composite
def queries(draw):
    """Up to four steps among four nodes, in one or several components."""
    paths = []
    for number in range(draw(st.integers(1, 4))):
        left, right = (
            name + draw(st.sampled_from(["", "", "", ":L0", ":L1"]))
            for name in draw(st.tuples(*[st.sampled_from("abcd")] * 2))
        )
        types = draw(st.sampled_from(["", "", ":R", ":R|S"]))
        before, after = draw(st.sampled_from([("-", "->"), ("<-", "-"), ("-", "-")]))
        paths.append(f"({left}){before}[r{number}{types}]{after}({right})")
    text = ", ".join(paths)
    compared = ["{x}.rank < {y}.rank", "{x}.rank > {y}.rank"] * 2
    compared += ["{x}.rank = 1", "{x}.rank >= 1", "r0.weight <= 1"]
    names = st.sampled_from([each for each in "abcd" if f"({each}" in text])
    conditions = [
        draw(st.sampled_from(compared)).format(x=draw(names), y=draw(names))
        for _ in range(draw(st.integers(0, 2)))
    ]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return parse("any", "any", f"MATCH {text}{where} RETURN count(*)")


@st.composite
def graphs(draw, motif):
    """One to four nodes; at least one relationship per step, so that an embedding is likely."""
    label_sets, types = [("L0", "L1"), ("L0",), ()], ["R", "S", "T"]
    node = st.integers(0, draw(st.integers(0, 3)))
    place = {name: draw(node) for name in motif.labels}
    rows = draw(st.lists(st.tuples(node, node, st.sampled_from(types)), max_size=3))
    for step in motif.steps:
        way = place[step.source], place[step.target]
        way = way if step.directed or draw(st.booleans()) else way[::-1]
        rows.append((*way, draw(st.sampled_from(step.types or types))))
    size = 1 + max(max(each[:2]) for each in rows)

    def column(values, length):
        return np.array([draw(st.sampled_from(values)) for _ in range(length)], dtype=object)

    return PeerGraph(
        label_sets,
        np.array([draw(st.sampled_from([0, 0, 1, 2])) for _ in range(size)]),
        types,
        np.array([types.index(each) for _, _, each in rows]),
        np.array([each for each, _, _ in rows]),
        np.array([each for _, each, _ in rows]),
        {"rank": column([0, 1, 2, 3, None], size)},
        {"weight": column([1, 2, None], len(rows))},
    )


@settings(max_examples=examples(300))
@given(st.data(), queries(), st.sampled_from(PIECES))
def test_the_oracle_counts_random_queries(data, motif, piece):
    graph = data.draw(graphs(motif))
    with mock.patch.object(homomorphisms, "PIECE", piece):
        assert oracle_count(motif, graph) == brute_force(motif, graph)


# ------------------------------------------------------------------ its limits
def plain(source, target, nodes):
    ones = np.zeros(nodes, np.int64), ["R"], np.zeros(len(source), np.int64)
    return PeerGraph([("Node",)], *ones, np.array(source), np.array(target))


def star(leaves):
    steps = ", ".join(f"(a)-->(n{each})" for each in range(leaves))
    return parse("plain", "star", f"MATCH {steps} RETURN count(*)")


def test_a_count_of_almost_63_bits_is_exact():
    graph = plain(np.zeros(6_000, int), np.arange(1, 6_001), 6_001)
    assert oracle_count(star(5), graph) == star_count(star(5), graph) > 2**62


def test_intermediate_overflows_are_harmless():
    # Nothing leads to the hub; the count of its 8,000^5 leaf combinations does not fit in 64 bits.
    hub, small = (
        (np.zeros(8_000, int), np.arange(1, 8_001)),
        ([8_001] * 5 + [1], [1, 2, 3, 4, 5, 8_001]),
    )
    graph = plain(np.append(hub[0], small[0]), np.append(hub[1], small[1]), 8_002)
    steps = ", ".join(f"(a)-->(n{each})" for each in range(5))
    motif = parse("plain", "held star", f"MATCH {steps}, (b)-->(a) RETURN count(*)")
    assert oracle_count(motif, graph) == 120


def test_a_count_that_may_overflow_is_none():
    graph = plain(np.zeros(7_000, int), np.arange(1, 7_001), 7_001)
    assert star_count(star(5), graph) > 2**63
    assert oracle_count(star(5), graph) is None


@pytest.mark.parametrize("nodes", [0, 3])
def test_a_graph_without_relationships_is_counted(nodes):
    graph = plain(np.zeros(0, int), np.zeros(0, int), nodes)
    assert all(oracle_count(motif, graph) == 0 for motif in (star(1), star(3)))


def test_a_count_beyond_the_deadline_is_none():
    assert oracle_count(star(2), plain([0, 0], [1, 1], 2), seconds=-1.0) is None


def test_every_condition_of_the_benchmark_is_parsed():
    for motif in MOTIFS:
        assert all(CONDITION.fullmatch(each) for each in motif.conditions)

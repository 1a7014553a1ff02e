from collections import Counter

import numpy as np
from graphs import make_graph
from hypothesis import given

from gpugda.data.oriented import oriented
from strategies import multigraphs


def relationships(graph):
    ends = zip(
        graph.start_nodes().tolist(),
        graph.outgoing.neighbours.tolist(),
        graph.relationship_types().tolist(),
        strict=True,
    )
    return list(ends)


@given(multigraphs())
def test_relationships_point_upwards_and_are_otherwise_equal(specs):
    graph = make_graph(*specs)
    turned = oriented(graph)
    turned.outgoing.check()
    turned.incoming.check()
    degrees = (graph.outgoing.degrees() + graph.incoming.degrees()).tolist()
    for start, end, _ in relationships(turned):
        assert (degrees[start], start) <= (degrees[end], end)
    assert Counter((min(s, e), max(s, e), kind) for s, e, kind in relationships(turned)) == Counter(
        (min(s, e), max(s, e), kind) for s, e, kind in relationships(graph)
    )
    assert turned.statistics.label_counts == graph.statistics.label_counts
    assert turned.statistics.type_counts == graph.statistics.type_counts
    assert turned.statistics.loop_counts == graph.statistics.loop_counts
    for node in range(graph.node_count):
        assert turned.node_labels(node) == graph.node_labels(node)


def test_properties_read_later_are_shared():
    graph = make_graph([("A", {"x": 1}), ("A", {"x": 2})], [(1, "R", 0, {"y": 1})])
    turned = oriented(graph)
    assert turned.node_properties is graph.node_properties
    assert np.array_equal(turned.start_nodes(), [0])
    assert not turned.relationship_properties.complete

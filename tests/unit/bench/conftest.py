from __future__ import annotations

import pytest
from graphs import make_graph

import gpugda


@pytest.fixture(scope="session")
def ring():
    """Six nodes in a ring, each joined twice to the next, some also across."""
    nodes = [(("A", "B") if i % 2 else "A", {"name": f"n{i}", "size": i}) for i in range(6)]
    relationships = [(i, "NEXT", (i + 1) % 6, {}) for i in range(6)]
    relationships += [((i + 1) % 6, "BACK", i, {}) for i in range(6)]
    relationships += [(0, "ACROSS", 3, {}), (1, "ACROSS", 4, {}), (2, "SELF", 2, {})]
    return make_graph(nodes, relationships)


@pytest.fixture(scope="session")
def ring_source(ring):
    """The same graph as a source."""
    names = [ring.node_labels(node) for node in range(ring.node_count)]
    nodes = {"id": list(range(6)), "labels": [list(each) for each in names], "size": list(range(6))}
    relationships = {
        "source": ring.start_nodes().tolist(),
        "target": ring.outgoing.neighbours.tolist(),
        "type": [ring.types.names[t] for t in ring.relationship_types().tolist()],
    }
    return gpugda.graph(nodes, relationships)

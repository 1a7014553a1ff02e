"""A graph with a hub, and plans whose joins reach it."""

from bound_queries import Node, Relationship, make_plan
from graphs import make_graph

from gpugda.plan.plan import LabelOp


def hub_graph(leaves):
    """A hub with a quarter of all relationships, with parallel ones and loops; a ring around it."""
    nodes = [("H", {})] + [("A" if at % 3 else "B", {}) for at in range(leaves)]
    relationships = [(0, "R" if at % 2 else "S", at, {}) for at in range(1, leaves + 1)]
    relationships += [(at, "R", at % leaves + 1, {}) for at in range(1, leaves + 1)] * 2
    relationships += [(at, "S", leaves + 1 - at, {}) for at in range(1, leaves + 1)]
    relationships += [(0, "R", at, {}) for at in range(1, leaves, 50)] + [(0, "R", 0, {})] * 2
    return make_graph(nodes, relationships)


HUB_PLANS = {
    "triangles": make_plan(
        [Node()] * 3, [Relationship(0, 1), Relationship(1, 2), Relationship(0, 2)]
    ),
    "undirected triangles": make_plan(
        [Node()] * 3,
        [
            Relationship(0, 1, directed=False),
            Relationship(1, 2, (0,), directed=False),
            Relationship(2, 0, directed=False),
        ],
    ),
    "two paths": make_plan([Node()] * 3, [Relationship(0, 1, (0,)), Relationship(1, 2, (0, 1))]),
    "a square": make_plan(
        [Node(), Node(), Node(((LabelOp.LABEL, 1),)), Node()],
        [Relationship(0, 1), Relationship(1, 2), Relationship(3, 2), Relationship(0, 3)],
    ),
}

"""A database in memory that random transactions are applied to."""

import random

from fake_server import FakeServer, _batches

from gpugda.data.build import build_data_graph
from gpugda.ports import DatabaseVersion

VERSION = DatabaseVersion("a-database", 1)
VALUES = ["a", "b", "ü", "", 1, 2**53 + 1, 1.5, float("nan"), True, [1, 2], ["a"], None, None]
TEXTS = [None, *(f"text {number}" for number in range(40))]
KINDS = {"mixed": VALUES, "text": TEXTS, "number": [None, 1, 2, 3], "list": [None, [1], [2], [1.5]]}


class RandomDatabase:
    """A database of a few hundred nodes that random transactions are applied to."""

    def __init__(self, seed, node_count):
        self.draw = random.Random(seed)
        self.server = FakeServer(
            {number: self.node() for number in range(0, 3 * node_count, 3)}, {}
        )
        self.changes = self.server.tell_changes()
        self.changes.follow(KINDS, KINDS)
        nodes = list(self.server.state.nodes)
        self.server.commit(
            relationships={10**6 + n: self.relationship(nodes) for n in range(4 * node_count)}
        )

    def node(self):
        labels = [name for name in "ABCDE" if self.draw.random() < 0.3]
        return labels, self.properties()

    def relationship(self, nodes):
        start, end = self.draw.choice(nodes), self.draw.choice(nodes[: len(nodes) // 4 + 1])
        # Many types at few nodes, so that some rows have long directories.
        kind = f"T{self.draw.randrange(30)}" if start % 5 == 0 else self.draw.choice("RS")
        return start, end, kind, self.properties()

    def properties(self):
        row = {key: self.draw.choice(values) for key, values in KINDS.items()}
        return {key: value for key, value in row.items() if value is not None}

    def transact(self, size):
        draw, state = self.draw, self.server.state
        gone = set(draw.sample(list(state.nodes), min(size, len(state.nodes) // 8)))
        lost = {n for n, row in state.relationships.items() if gone & set(row[:2])}
        lost |= set(draw.sample(list(state.relationships), min(size, len(state.relationships))))
        nodes = {draw.randrange(4 * len(state.nodes)): self.node() for _ in range(size)}
        nodes |= {n: self.node() for n in draw.sample(list(state.nodes), size)}
        kept = [n for n in state.nodes if n not in gone] + list(nodes)
        free = max(state.relationships, default=10**6) + 1
        added = {free + n: self.relationship(kept) for n in range(draw.randrange(3 * size))}
        some = set(draw.sample(list(state.relationships), size)) - lost
        added |= {n: (*state.relationships[n][:3], self.properties()) for n in some}
        # An entity deleted and created again with the same id is new: only the id is the same.
        self.server.commit(without=lost)
        self.server.commit(without=gone - nodes.keys())
        self.server.commit(nodes=nodes, relationships=added)

    def graph(self):
        graph = build_data_graph(_batches(self.server.state, VERSION, complete=False))
        for of_nodes in (True, False):
            columns = self.server.read_properties(
                list(KINDS), graph.external_ids.of(of_nodes), VERSION, of_nodes=of_nodes
            )
            graph.add_properties(columns, list(KINDS), of_nodes=of_nodes)
        return graph

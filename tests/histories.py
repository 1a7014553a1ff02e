"""Random transactions on a few reused ids, and the events that they cause."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from applied_changes import StateOfGraph
from gpugda_adapters.change_events import ChangeEvents, EntityEvents, PropertyEvents
from hypothesis import strategies as st

LABELS, TYPES, KEYS = ["A", "B", "C"], ["R", "S"], ["x", "y"]
NAMES = [*LABELS, *TYPES, *KEYS]


class Database:
    """Runs transactions on a few reused ids; records the events that a listener receives."""

    def __init__(self, draw):
        self.draw = draw
        self.nodes, self.relationships = {}, {}
        self.states = {}
        self.rows = {name: [] for name in ("cn", "dn", "l", "cr", "dr", "np", "rp")}
        self.values = {"np": [], "rp": []}
        self.step = -1

    def code(self, name):
        return NAMES.index(name)

    def begin(self, step):
        """Begins a transaction."""
        self.step = step
        self.before = (dict(self.nodes), dict(self.relationships))

    def end(self, number):
        """Events of the whole transaction, without entities both created and deleted in it."""
        old, new = self.before, (self.nodes, self.relationships)
        for place, (created, deleted) in enumerate((("cn", "dn"), ("cr", "dr"))):
            for each in sorted(set(old[place]) | set(new[place])):
                was, now = old[place].get(each), new[place].get(each)
                self._entity(each, was, now, created, deleted, of_nodes=place == 0)
        self.states[number] = SimpleNamespace(
            nodes=dict(self.nodes), relationships=dict(self.relationships)
        )

    def _entity(self, number, was, now, created, deleted, *, of_nodes):
        if was is now:
            return
        if was is not None and (now is None or now[0] != was[0]):
            self.rows[deleted].append(self._row(number, was, of_nodes))
            was = None
        if now is None:
            return
        if was is None:
            self.rows[created].append(self._row(number, now, of_nodes))
        if of_nodes:
            for label in sorted(set(now[1]) - set(was[1] if was else ())):
                self.rows["l"].append((self.step, number, self.code(label)))
            for label in sorted(set(was[1] if was else ()) - set(now[1])):
                self.rows["l"].append((self.step, number, -1 - self.code(label)))
        kind = "np" if of_nodes else "rp"
        for key in KEYS:
            before = was[-1].get(key) if was else None
            if before != now[-1].get(key):
                self.rows[kind].append((self.step, number, self.code(key)))
                self.values[kind].append(now[-1].get(key))

    def _row(self, number, entity, of_nodes):
        if of_nodes:
            return (self.step, number)
        return (self.step, number, *entity[1:3], self.code(entity[3]))

    def events(self, since):
        return ChangeEvents(
            transaction_count=self.step,
            names=NAMES,
            created_nodes=self._entities("cn", 2, since),
            deleted_nodes=self._entities("dn", 2, since),
            labels=self._labels(since),
            created_relationships=self._entities("cr", 5, since),
            deleted_relationships=self._entities("dr", 5, since),
            node_properties=self._properties("np", since),
            relationship_properties=self._properties("rp", since),
        )

    def _columns(self, name, width, since):
        rows = [row for row in self.rows[name] if row[0] > since]
        return list(np.array(rows, dtype=np.int64).reshape(-1, width).T)

    def _entities(self, name, width, since):
        return EntityEvents(*self._columns(name, width, since))

    def _labels(self, since):
        steps, ids, codes = self._columns("l", 3, since)
        return EntityEvents(steps, ids, codes=codes)

    def _properties(self, name, since):
        skipped = sum(row[0] <= since for row in self.rows[name])
        steps, ids, codes = self._columns(name, 3, since)
        values = self.values[name][skipped:]
        complete = frozenset([self.code("x")])
        return PropertyEvents(steps, ids, codes, np.arange(len(ids)), values, complete)


@st.composite
def histories(draw):
    database = Database(draw)
    database.begin(0)
    database.end(0)
    for step in range(1, draw(st.integers(1, 8)) + 1):
        database.begin(step)
        for _ in range(draw(st.integers(0, 6))):
            draw(st.sampled_from(DOES))(database, draw(st.integers(0, 5)))
        database.end(step)
    return database


def delete_node(database, number):
    has = [row for row in database.relationships.values() if number in row[1:3]]
    if number in database.nodes and not has:
        del database.nodes[number]


def create_node(database, number):
    if number not in database.nodes and number not in database.before[0]:
        labels = database.draw(st.lists(st.sampled_from(LABELS), unique=True).map(sorted))
        database.nodes[number] = (object(), tuple(labels), {})


def change_label(database, number):
    if number in database.nodes:
        born, labels, properties = database.nodes[number]
        labels = set(labels) ^ {database.draw(st.sampled_from(LABELS))}
        database.nodes[number] = (born, tuple(sorted(labels)), properties)


def set_property(database, number):
    table = database.draw(st.sampled_from([database.nodes, database.relationships]))
    if number in table:
        key, value = (
            database.draw(st.sampled_from(KEYS)),
            database.draw(st.sampled_from([None, 1, 2])),
        )
        properties = {**table[number][-1], key: value}
        known = {name: each for name, each in properties.items() if each is not None}
        table[number] = (*table[number][:-1], known)


def delete_relationship(database, number):
    database.relationships.pop(number, None)


def create_relationship(database, number):
    taken = number in database.relationships or number in database.before[1]
    if database.nodes and not taken:
        ends = st.sampled_from(sorted(database.nodes))
        kind = database.draw(st.sampled_from(TYPES))
        row = (object(), database.draw(ends), database.draw(ends), kind, {})
        database.relationships[number] = row


DOES = [
    delete_node,
    create_node,
    change_label,
    set_property,
    delete_relationship,
    create_relationship,
    create_relationship,
]


def as_it_is(state):
    found = StateOfGraph()
    found.labels = {number: set(row[1]) for number, row in state.nodes.items()}
    found.relationships = {number: row[1:4] for number, row in state.relationships.items()}
    for of_nodes, table in ((True, state.nodes), (False, state.relationships)):
        for number, row in table.items():
            found.set_properties(of_nodes, number, {"x": row[-1].get("x")})
    return found

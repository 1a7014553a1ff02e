"""A database in memory that implements the port of a live server: versions, commits, faults."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import neo4j
import numpy as np
import pyarrow as pa
from fake_changes import FakeChanges

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import column_from_values
from gpugda.errors import StaleSnapshotError
from gpugda.ports import (
    DatabaseVersion,
    EntityRows,
    GraphBatches,
    IdentifierPrefixes,
    NativeAnswer,
    Projection,
    ServerFacts,
    SilentProgress,
)
from gpugda.query.parser import parse
from gpugda.reference.run import run_reference
from gpugda.values import Entity

FACTS = ServerFacts(
    address="bolt://fake:7687",
    product="Fake",
    version="1.0",
    edition="community",
    database="neo4j",
    database_id="a-database",
    default_cypher=5,
    user="",
    impersonated_user="",
    has_bookmarks=True,
    clustered=False,
    sees_everything=True,
)


@dataclass
class State:
    """Nodes and relationships by id."""

    nodes: dict = field(default_factory=dict)  # id: (labels, properties)
    relationships: dict = field(default_factory=dict)  # id: (source, target, type, properties)


class FakeServer:
    """Implements `gpugda.ports.DatabaseServer`.

    Set ``during_read``, ``during_properties`` or ``during_native`` to a function that is called
    during these operations, to commit something or to raise. Set ``changes`` to a `FakeChanges` for
    a server that reports changes.
    """

    name = "fake"

    def __init__(self, nodes=None, relationships=None, facts=FACTS, projection=None):
        self.state = State(dict(nodes or {}), dict(relationships or {}))
        self.facts = facts
        self.projection = projection or Projection()
        self.transaction = 10
        self.database_id = facts.database_id
        self.calls = []
        self.during_read = self.during_properties = self.during_native = None
        self.tells_version = self.facts.has_bookmarks
        self.closed = False
        self.changes = None
        self.largest = 100  # exclusive upper limit of ids when read while it changes
        self.states = {self.transaction: self.state}
        self._lock = threading.Lock()

    # -------------------------------------------------------------- for tests
    def commit(self, nodes=None, relationships=None, without=()):
        """One transaction: adds or replaces nodes and relationships, or removes ids of both."""
        with self._lock:
            state = State(dict(self.state.nodes), dict(self.state.relationships))
            state.nodes.update(nodes or {})
            state.relationships.update(relationships or {})
            for identifier in without:
                state.nodes.pop(identifier, None)
                state.relationships.pop(identifier, None)
            self.states[self.transaction + 1] = self.state = state
            self.transaction += 1

    def tell_changes(self):
        """Makes the server report changes from now on; returns its `FakeChanges`."""
        self.changes = FakeChanges(self)
        return self.changes

    def count(self, call):
        return sum(1 for each in self.calls if each[0] == call)

    # -------------------------------------------------------------- the port
    def probe(self, timeout=None):
        self.calls.append(("probe",))
        return self.version_of() if self.facts.has_bookmarks else None

    @contextmanager
    def asking(self, timeout=None):
        yield lambda: self.probe()

    def version_in(self, bookmark):
        kind, _, number = bookmark.partition(" ")
        return self.version_of(int(number)) if kind == "bookmark" else None

    def version_of(self, transaction=None):
        number = self.transaction if transaction is None else transaction
        return DatabaseVersion(self.database_id, number, f"bookmark {number}")

    @contextmanager
    def read(self, progress, *, gentle=False, moving=False):
        self.calls.append(("read", gentle))
        state, version = self.state, self.probe()
        progress.phase("nodes", len(state.nodes))
        if moving:
            yield self._read_moving(version)
            return
        yield _batches(state, version, complete=False, between=lambda: self._call("during_read"))

    def _read_moving(self, version):
        """Reads each node and each relationship from the state that is current at that moment."""

        def nodes():
            for number in range(self.largest):
                self._call("during_read")
                if number in self.state.nodes:
                    state = State({number: self.state.nodes[number]})
                    yield from _batches(state, version, complete=False).nodes

        def relationships():
            for number in range(self.largest):
                self._call("during_read")
                if number in self.state.relationships:
                    state = State({}, {number: self.state.relationships[number]})
                    yield from _batches(state, version, complete=False).relationships

        prefixes = IdentifierPrefixes(f"4:{self.database_id}:", f"5:{self.database_id}:")
        return GraphBatches(nodes(), relationships(), version, prefixes, properties_complete=False)

    def read_properties(self, keys, ids, version, *, of_nodes, progress=None):
        self.calls.append(("properties", keys, of_nodes))
        self._call("during_properties")
        rows = self._rows(ids, of_nodes)
        names = sorted({key for row in rows for key in row}) if keys is None else keys
        return {key: column_from_values([row.get(key) for row in rows]) for key in names}

    def listed_labels(self, labels):
        self.calls.append(("labels", tuple(sorted(labels))))
        found = (row[0] for row in self.state.nodes.values() if set(labels) <= set(row[0]))
        return tuple(next(found, ()))

    def read_entities(self, ids, version, *, of_nodes):
        self.calls.append(("entities", of_nodes))
        self._call("during_properties")
        return EntityRows(
            self._rows(ids, of_nodes), self.version_of() if self.tells_version else None
        )

    def run_native(
        self,
        text,
        parameters,
        *,
        timeout=None,
        read_only=False,
        progress=None,
        metadata=None,
        cancellation=None,
    ):
        self.cancellation = cancellation
        self.metadata = metadata
        self.calls.append(("native", text, dict(parameters), read_only))
        self._call("during_native")
        graph = build_data_graph(_batches(self.state, None, complete=True))
        found = run_reference(parse(text), graph, parameters)
        records = [
            neo4j.Record(zip(found.names, [_plain(value, graph) for value in row], strict=True))
            for row in found.rows
        ]
        return NativeAnswer(tuple(found.names), records, None, self.probe())

    def change_source(self):
        return self.changes

    def close(self):
        self.closed = True

    # -------------------------------------------------------------- inside
    def _call(self, hook):
        function = getattr(self, hook)
        if function is not None:
            function()

    def _rows(self, ids, of_nodes):
        table = self.state.nodes if of_nodes else self.state.relationships
        try:
            return [dict(table[identifier][-1]) for identifier in np.asarray(ids).tolist()]
        except KeyError as error:
            raise StaleSnapshotError(f"id {error} is of nothing any more") from None


def _plain(value, graph):
    if isinstance(value, Entity):
        return ("node" if value.is_node else "relationship", value.index)
    return value


def _batches(state, version, complete, between=None):
    def nodes():
        ids = sorted(state.nodes)
        rows = [state.nodes[each] for each in ids]
        sets = list(dict.fromkeys(tuple(row[0]) for row in rows)) or [()]
        yield NodeBatch(
            count=len(ids),
            ids=pa.array(ids, pa.int64()),
            label_codes=np.array([sets.index(tuple(row[0])) for row in rows], dtype=np.int32),
            label_sets=tuple(sets),
            properties=_columns([row[1] for row in rows]) if complete else {},
        )

    def relationships():
        if between is not None:
            between()
        rows = list(state.relationships.values())
        types = list(dict.fromkeys(row[2] for row in rows))
        yield RelationshipBatch(
            count=len(rows),
            source_ids=pa.array([row[0] for row in rows], pa.int64()),
            target_ids=pa.array([row[1] for row in rows], pa.int64()),
            type_codes=np.array([types.index(row[2]) for row in rows], dtype=np.int32),
            type_names=tuple(types),
            properties=_columns([row[3] for row in rows]) if complete else {},
            relationship_ids=np.array(list(state.relationships), dtype=np.int64),
        )

    return GraphBatches(
        nodes(),
        relationships(),
        version=version,
        element_ids=IdentifierPrefixes("4:a-database:", "5:a-database:"),
        properties_complete=complete,
    )


def _columns(rows):
    keys = sorted({key for row in rows for key in row})
    return {key: column_from_values([row.get(key) for row in rows]) for key in keys}


def facts(**changes):
    """The usual facts, with some changed."""
    return replace(FACTS, **changes)


def silent():
    return SilentProgress()

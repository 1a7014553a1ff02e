"""A change source over a server that keeps all its states: changes are their differences."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.values.columns import column_from_values
from gpugda.ports import ChangeBatch, ChangeGap, LabelChanges, PropertyChanges, TouchedEntities


class FakeChanges:
    """Implements `gpugda.ports.ChangeSource` for a server that keeps its states by transaction.

    Set ``kept`` to the number of transactions kept before the newest, ``gap`` to a `ChangeGap` that
    answers every request, ``known_up_to`` to the newest transaction reported, ``during_changes`` to
    a function called before each answer, and ``tells_newest`` to False for a source that does not
    say whether it reported the newest state.
    """

    described = "a fake"

    def __init__(self, server):
        self.server = server
        self.kept = 1_000
        self.gap = None
        self.known_up_to = None
        self.during_changes = None
        self.tells_newest = True
        self.started = None
        self.keys = {True: {}, False: {}}  # nodes?: {key: recorded since transaction}

    def follow(self, node_keys=(), relationship_keys=()):
        self.server.calls.append(("follow", tuple(node_keys), tuple(relationship_keys)))
        if self.gap is not None:
            return self.gap
        if self.started is None:
            self.started = self.server.transaction
        for of_nodes, keys in ((True, node_keys), (False, relationship_keys)):
            for key in keys:
                self.keys[of_nodes].setdefault(key, self.server.transaction)
        return self.server.version_of(self.server.transaction)

    def changes_since(self, version, until=None):
        self.server.calls.append(("changes", version.transaction))
        if self.during_changes is not None:
            self.during_changes()
        now = newest = self.server.transaction
        if self.known_up_to is not None:
            newest = min(newest, self.known_up_to)
        reason = self._gap(version, newest)
        if reason:
            return reason
        found = self._between(version.transaction, max(newest, version.transaction))
        return replace(found, is_newest=self.tells_newest and newest == now)

    def _gap(self, version, newest):
        if self.gap is not None:
            return self.gap
        if version.database_id != self.server.database_id:
            return ChangeGap("it is another database")
        if self.started is None or version.transaction < self.started:
            return ChangeGap("changes are recorded since later")
        if version.transaction < newest - self.kept:
            return ChangeGap("too much was changed since")
        return None

    def _between(self, since, last):
        old, new = self.server.states[since], self.server.states[last]
        touched = self._touched(since, last)
        # An entity that was deleted and created again with the same id is a different entity.
        lives, ties = set(touched.nodes.tolist()), set(touched.relationships.tolist())
        nodes = {number: row for number, row in old.nodes.items() if number not in lives}
        relationships = {n: row for n, row in old.relationships.items() if n not in ties}
        created = {n: row for n, row in new.relationships.items() if n not in relationships}
        return ChangeBatch(
            since=since,
            version=self.server.version_of(last),
            transaction_count=last - since,
            created_nodes=_nodes({i: row for i, row in new.nodes.items() if i not in nodes}),
            deleted_nodes=_ids(old.nodes.keys() & lives),
            labels=_labels(nodes, new.nodes),
            created_relationships=_relationships(created),
            deleted_relationships=_relationships(
                {number: row for number, row in old.relationships.items() if number in ties}
            ),
            node_properties=_properties(nodes, new.nodes, self.keys[True], since),
            relationship_properties=_properties(
                relationships, new.relationships, self.keys[False], since
            ),
            touched=touched,
        )

    def _touched(self, since, last):
        """All entities that a transaction created, deleted or relabelled."""
        states = [self.server.states[each] for each in range(since, last + 1)]
        nodes, relationships, labelled = set(), set(), {}
        for old, new in pairwise(states):
            nodes |= old.nodes.keys() ^ new.nodes.keys()
            relationships |= _only_in(new, old).keys() | _only_in(old, new).keys()
            for node in old.nodes.keys() & new.nodes.keys():
                for label in set(old.nodes[node][0]) ^ set(new.nodes[node][0]):
                    labelled[node, label] = label in new.nodes[node][0]
        rows = sorted((*key, added) for key, added in labelled.items() if key[0] not in nodes)
        return TouchedEntities(_ids(nodes), _ids(relationships), _label_changes(rows))


def _ids(numbers):
    return np.array(sorted(numbers), dtype=np.int64)


def _only_in(state, other):
    """Relationships for which ``other`` has none with the same id, ends and type."""
    return {
        number: row
        for number, row in state.relationships.items()
        if row[:3] != other.relationships.get(number, ())[:3]
    }


def _nodes(rows):
    ids = sorted(rows)
    sets = list(dict.fromkeys(tuple(rows[each][0]) for each in ids))
    codes = [sets.index(tuple(rows[each][0])) for each in ids]
    return NodeBatch(
        len(ids), pa.array(ids, pa.int64()), np.array(codes, dtype=np.int32), tuple(sets), {}
    )


def _relationships(rows):
    ids = sorted(rows)
    types = list(dict.fromkeys(rows[each][2] for each in ids))
    return RelationshipBatch(
        count=len(ids),
        source_ids=pa.array([rows[each][0] for each in ids], pa.int64()),
        target_ids=pa.array([rows[each][1] for each in ids], pa.int64()),
        type_codes=np.array([types.index(rows[each][2]) for each in ids], dtype=np.int32),
        type_names=tuple(types),
        relationship_ids=_ids(ids),
    )


def _labels(old, new):
    changes = [
        (node, label, label in new[node][0])
        for node in sorted(old.keys() & new.keys())
        for label in sorted(set(old[node][0]) ^ set(new[node][0]))
    ]
    return _label_changes(changes)


def _label_changes(changes):
    names = list(dict.fromkeys(label for _, label, _ in changes))
    return LabelChanges(
        node_ids=np.array([node for node, _, _ in changes], dtype=np.int64),
        label_codes=np.array([names.index(label) for _, label, _ in changes], dtype=np.int32),
        added=np.array([added for _, _, added in changes], dtype=np.bool_),
        labels=tuple(names),
    )


def _properties(old, new, kept, since):
    touched = {}
    for number in sorted(new):
        before = old[number][-1] if number in old else {}
        now = new[number][-1]
        for key in sorted(before.keys() | now.keys()):
            if repr(before.get(key)) != repr(now.get(key)):  # 1 differs from true
                touched.setdefault(key, []).append(number)
    return {
        key: PropertyChanges(
            _ids(numbers),
            column_from_values([new[each][-1].get(key) for each in numbers])
            if kept.get(key, since + 1) <= since
            else None,
        )
        for key, numbers in touched.items()
    }

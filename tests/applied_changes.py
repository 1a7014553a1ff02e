"""A graph in dicts that change batches are applied to: the expected result of increments."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpugda.data.values.columns import to_values


@dataclass
class StateOfGraph:
    """By id: labels, relationships ``(source, target, type)``, values by ``(of nodes, key)``."""

    labels: dict = field(default_factory=dict)
    relationships: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)

    def set_properties(self, of_nodes, number, properties):
        for key, value in properties.items():
            table = self.values.setdefault((of_nodes, key), {})
            table.pop(number, None)
            if value is not None:
                table[number] = value

    def apply(self, batch, keys=()):
        """The next state. Each step fails if it contradicts the current state."""
        self._delete(batch)
        self._create_nodes(batch.created_nodes)
        rows = zip(
            batch.labels.node_ids.tolist(),
            batch.labels.label_codes.tolist(),
            batch.labels.added.tolist(),
            strict=True,
        )
        for number, code, added in rows:
            label = batch.labels.labels[code]
            assert (label in self.labels[number]) != added
            (self.labels[number].add if added else self.labels[number].remove)(label)
        for number, row in rows_of(batch.created_relationships).items():
            assert number not in self.relationships
            assert {row[0], row[1]} <= self.labels.keys()
            self.relationships[number] = row
        self._set_values(batch, keys)

    def _delete(self, batch):
        for number, row in rows_of(batch.deleted_relationships).items():
            assert self.relationships.pop(number) == row
            self._forget(False, number)
        for number in batch.deleted_nodes.tolist():
            del self.labels[number]
            self._forget(True, number)

    def _forget(self, of_nodes, number):
        for (nodes, _), table in self.values.items():
            if nodes == of_nodes:
                table.pop(number, None)

    def _create_nodes(self, batch):
        for number, code in zip(batch.ids.to_pylist(), batch.label_codes.tolist(), strict=True):
            assert number not in self.labels
            self.labels[number] = set(batch.label_sets[code])

    def _set_values(self, batch, keys):
        tables = ((True, batch.node_properties), (False, batch.relationship_properties))
        for of_nodes, changes in tables:
            there = self.labels if of_nodes else self.relationships
            for key, change in changes.items():
                ids = change.ids.tolist()
                assert ids == sorted(set(ids))
                assert set(ids) <= there.keys()
                if key in keys:
                    for number, value in zip(ids, to_values(change.values), strict=True):
                        self.set_properties(of_nodes, number, {key: value})

    def __eq__(self, other):
        return (
            self.labels == other.labels
            and self.relationships == other.relationships
            and self._known_values() == other._known_values()
        )

    __hash__ = None

    def _known_values(self):
        return {key: table for key, table in self.values.items() if table}


def rows_of(batch):
    """Relationships of a batch, as ``{id: (source, target, type)}``."""
    rows = zip(
        batch.source_ids.to_pylist(),
        batch.target_ids.to_pylist(),
        [batch.type_names[code] for code in batch.type_codes],
        strict=True,
    )
    return dict(zip(batch.relationship_ids.tolist(), rows, strict=True))

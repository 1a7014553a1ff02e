"""Changes as the server reports them for several transactions since the last request."""

from __future__ import annotations

import numpy as np
from benchmarks.test_increments import NONE, TYPES
from gpugda_adapters.change_events import ChangeEvents, EntityEvents, PropertyEvents

from gpugda.data.values.arrow_numbers import numpy_numbers
from gpugda.data.values.column import to_values

TRANSACTIONS = 10


def events_of(batch):
    """The changes of a batch as the events of `TRANSACTIONS`, which all change other things."""
    names = [*TYPES, "A", "B", *batch.node_properties]
    codes = {name: code for code, name in enumerate(names)}

    def entities(ids, *more):
        steps = ids % TRANSACTIONS
        order = np.argsort(steps, kind="stable")
        return EntityEvents(*(np.asarray(each)[order] for each in (steps, ids, *more)))

    def relationships(some):
        types = np.array([codes[name] for name in some.type_names])[some.type_codes]
        ends = (numpy_numbers(each) for each in (some.source_ids, some.target_ids))
        return entities(some.relationship_ids, *ends, types)

    created = numpy_numbers(batch.created_nodes.ids)
    labels = batch.labels
    given = np.array([codes[name] for name in labels.labels], dtype=np.int64)[labels.label_codes]
    signed = np.where(labels.added, given, -1 - given)
    labelled = np.concatenate([created, labels.node_ids])
    label_codes = np.concatenate([np.full(len(created), codes["A"]), signed])
    parts = batch.node_properties.items()
    ids = np.concatenate([each.ids for _, each in parts]) if parts else NONE
    keys = [np.full(len(each.ids), codes[key]) for key, each in parts]
    values = [value for _, each in parts for value in to_values(each.values)]
    steps = ids % TRANSACTIONS
    order = np.argsort(steps, kind="stable")
    return ChangeEvents(
        transaction_count=TRANSACTIONS,
        names=names,
        created_nodes=entities(created),
        deleted_nodes=entities(NONE),
        labels=entities(labelled, labelled, labelled, label_codes),
        created_relationships=relationships(batch.created_relationships),
        deleted_relationships=relationships(batch.deleted_relationships),
        node_properties=PropertyEvents(
            steps[order],
            ids[order],
            np.concatenate([*keys, NONE])[order],
            np.arange(len(ids)),
            [values[row] for row in order.tolist()],
            frozenset(codes.values()),
        ),
        relationship_properties=PropertyEvents(NONE, NONE, NONE, NONE, [], frozenset()),
    )

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import column_from_values
from gpugda.execute.result_table import ResultTable
from gpugda.ports import GraphBatches
from gpugda.result.result import Result
from gpugda.result.summary import Summary


@pytest.fixture(scope="package")
def graph():
    """Ann KNOWS Bob twice, Bob LIKES himself; a third node has no relationships."""
    nodes = NodeBatch(
        count=3,
        ids=pa.array(["ann", "bob", "nobody"]),
        label_codes=np.array([0, 1, 2], dtype=np.int32),
        label_sets=(("Person", "Boss"), ("Person",), ()),
        properties={
            "name": column_from_values(["Ann", 'Bob "B"', None]),
            "tags": column_from_values([["x", "y"], None, None]),
        },
    )
    relationships = RelationshipBatch(
        count=3,
        source_ids=pa.array(["ann", "ann", "bob"]),
        target_ids=pa.array(["bob", "bob", "bob"]),
        type_codes=np.array([0, 0, 1], dtype=np.int32),
        type_names=("KNOWS", "LIKES"),
        properties={"since": column_from_values([2001, 2002, None])},
    )
    return build_data_graph(GraphBatches([nodes], [relationships]))


@pytest.fixture
def summary():
    return Summary(
        "reference", "asked for", "RETURN 1", {"secret": "hunter2"}, timings={"total": 0.5}
    )


@pytest.fixture
def result_of(graph, summary):
    """A result with rows of plain values."""

    def make(names, rows):
        return Result.from_rows(names, rows, graph, summary)

    return make


@pytest.fixture
def result_of_columns(graph, summary):
    """A result made from columns."""

    def make(**columns):
        count = len(next(iter(columns.values())))
        table = ResultTable(tuple(columns), tuple(columns.values()), count, graph)
        return Result(table, summary)

    return make

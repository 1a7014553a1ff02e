from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from graphs import design_graph, make_graph

from gpugda.errors import SourceError
from gpugda.snapshot.range_checks import check_ranges
from gpugda.snapshot.store import open_snapshot, save_snapshot

# The example has 2 nodes, 5 relationships, 2 types; rows 4 and 1 long outgoing, 2 and 3 incoming.
WRONG_ROWS = {
    "outgoing.neighbours": [0, 1, 2, 1, 0],
    "outgoing.run_types": [0, 2, 0],
    "outgoing.run_starts": [0, 4, 3, 5],
    "incoming.relationship_indexes": [0, 4, 1, 2, 5],
    "incoming.run_offsets": [0, 4, 3],
}


def with_wrong_rows(place):
    graph = design_graph()
    direction, name = place.split(".")
    rows = getattr(graph, direction)
    wrong = np.array(WRONG_ROWS[place], dtype=getattr(rows, name).dtype)
    return dataclasses.replace(graph, **{direction: dataclasses.replace(rows, **{name: wrong})})


@pytest.mark.parametrize("place", WRONG_ROWS)
def test_numbers_that_lead_outside_are_found(place):
    with pytest.raises(ValueError, match=place):
        check_ranges(with_wrong_rows(place))


def test_runs_beside_their_rows_are_found():
    graph = design_graph()
    rows = dataclasses.replace(graph.outgoing, row_offsets=np.array([0, 3, 5], dtype=np.uint32))
    with pytest.raises(ValueError, match="the runs do not fit"):
        check_ranges(dataclasses.replace(graph, outgoing=rows))


def test_labels_and_codes_that_do_not_exist_are_found():
    graph = design_graph()
    with pytest.raises(ValueError, match="label_ids"):
        check_ranges(dataclasses.replace(graph, label_ids=np.array([0, 1], dtype=np.uint16)))
    column = dataclasses.replace(
        graph.node_properties["name"], values=np.array([0, 2], dtype=np.int32)
    )
    with pytest.raises(ValueError, match="'name'"):
        check_ranges(dataclasses.replace(graph, node_properties={"name": column}))


def test_a_snapshot_written_wrongly_is_refused(tmp_path):
    save_snapshot(with_wrong_rows("outgoing.neighbours"), tmp_path / "s")
    with pytest.raises(SourceError, match=r"damaged, outgoing\.neighbours holds a number out of"):
        open_snapshot(tmp_path / "s")
    open_snapshot(tmp_path / "s", verify=False)


def test_good_graphs_pass():
    for graph in (
        design_graph(),
        make_graph([]),
        make_graph([("A", {"x": None}), ("", {"x": []})]),
    ):
        check_ranges(graph)

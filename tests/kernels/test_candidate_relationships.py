"""Tables of candidate relationships against NumPy."""

import numpy as np
import pytest
from gpugda_strategies.launch.candidate_relationships import (
    CandidateRelationships,
    Section,
    write_sections,
)
from kernels.kernel_graphs import SIZES, entries, pack, random_graph, upload_query, wrong

from gpugda.device.launch.primitives import PrefixSum
from gpugda.device.launch.query_words import Adjacency, QueryRow

# (row of the end used for lookup, the query relationship as seen from there)
TABLES = [
    (0, Adjacency(0, 1, True, False, False, None, None)),
    (1, Adjacency(1, 2, True, True, False, 0, (0, 2))),
    (2, Adjacency(2, 2, True, False, True, None, None)),
    (2, Adjacency(3, 0, False, True, False, 0, (1,))),
    (0, Adjacency(4, 1, True, False, False, None, ())),
]


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("share", [0.1, 0.8, 1.0])
def test_tables_hold_the_candidate_relationships(context, workspace, nodes, share):
    graph = random_graph(nodes)
    random = np.random.default_rng(nodes)
    mask = random.random(graph.relationship_count) < 0.6
    chosen = random.random((3, nodes)) < share
    chosen[:, 0] = True
    rows = [
        QueryRow(0, (), None, (), tuple(each for at, each in TABLES if at == row))
        for row in range(3)
    ]
    arrays, query = upload_query(context, workspace, graph, rows, relationship_masks=[pack(mask)])
    picked = [np.flatnonzero(each) for each in chosen]
    sections = _sections(picked, query)
    row_count = sections[-1].first_row + sections[-1].row_count
    shared = (
        arrays,
        workspace.upload(np.concatenate(picked).astype(np.uint32)),
        workspace.upload(np.concatenate([pack(each) for each in chosen])),
        workspace.upload(write_sections(sections)),
    )
    launcher = CandidateRelationships(context)
    counts = wrong(workspace, row_count)
    launcher.count(*shared, counts)
    expected = [row for table in TABLES for row in _rows(graph, table, picked, chosen, mask)]
    np.testing.assert_array_equal(workspace.download(counts), [len(row) for row in expected])

    offsets = PrefixSum(context).run(workspace, counts, 0, row_count)
    total = sum(map(len, expected))
    ends, relationships = wrong(workspace, total + 1), wrong(workspace, total + 1)
    launcher.write(*shared, offsets, ends, relationships)
    pairs = [pair for row in expected for pair in row] + [(0xFFFFFFFF, 0xFFFFFFFF)]
    np.testing.assert_array_equal(workspace.download(ends), [end for end, _ in pairs])
    np.testing.assert_array_equal(workspace.download(relationships), [index for _, index in pairs])


def _sections(picked, query):
    sections, first_row = [], 0
    firsts = np.cumsum([0, *map(len, picked)])
    for at, adjacency in TABLES:
        place = query.adjacencies[at, adjacency.relationship]
        sections.append(Section(first_row, len(picked[at]), int(firsts[at]), place))
        first_row += len(picked[at])
    return sections


def _rows(graph, table, picked, chosen, mask):
    at, each = table
    used = None if each.mask_slot is None else mask
    for node in picked[at].tolist():
        found = entries(graph, node, each.outgoing, each.incoming, each.types, used, each.is_loop)
        yield [(end, index) for end, index in found if chosen[each.other_row][end]]

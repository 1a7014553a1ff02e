"""Degrees that the host counts, against counting relationships one by one."""

from collections import Counter

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from segmented_runs import IN_PARTS, rows

from gpugda.device.context import list_devices
from gpugda.match.extend.segments import degrees
from gpugda.plan.bind import bind
from gpugda.plan.counting.degree_messages import find_degree_messages
from gpugda.plan.masks import Masks
from tests.one_pattern import query_of

TYPES = ["", ":R", ":S", ":R|S", ":R|S|T"]
NODES = 70  # three words of a bitmap


def groups_of(graph, text):
    """The groups of leaves of a query, with their plan."""
    plan = find_degree_messages(bind(query_of(text), graph), graph, Masks({}, {})).plan
    return plan, plan.groups


@given(data=st.data())
def test_degrees_of_some_nodes_in_any_width(data):
    known = data.draw(st.sampled_from(["R", "RST"]))
    node = st.integers(0, NODES - 1)
    one = st.tuples(node, st.sampled_from(known), node)
    ends = data.draw(st.lists(one.filter(lambda each: each[0] != each[2]), max_size=60))
    ends += [(number, kind, number + 1) for number, kind in enumerate(known)]
    graph = make_graph([("", {})] * NODES, [(*each, {}) for each in ends])
    kinds = data.draw(st.sampled_from(TYPES[:2] if known == "R" else TYPES))
    arrow = data.draw(st.sampled_from(["<-", "-"]))
    back = "-" if arrow == "<-" else data.draw(st.sampled_from(["->", "-"]))
    text = f"MATCH (a){arrow}[{kinds}]{back}(b) RETURN count(*)"
    text = text.replace("RETURN", f", (a){arrow}[{kinds}]{back}(c) RETURN")
    plan, groups = groups_of(graph, text)
    bits = data.draw(st.none() | st.lists(st.booleans(), min_size=NODES, max_size=NODES))
    anchors = None
    if bits is not None:
        padded = [*bits, *[False] * (-NODES % 32)]
        anchors = np.packbits(padded, bitorder="little").view(np.uint32)
    dtype = data.draw(st.sampled_from([np.uint8, np.uint16, np.uint32]))
    piece = data.draw(st.sampled_from([32, 64, 1 << 18]))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(degrees, "_NODES_OF_PIECE", piece)
        for group in groups:
            wanted = kinds[1:].split("|") if kinds else "RST"
            found = Counter[int]()
            for start, kind, end in ends:
                found[start] += group.outgoing and kind in wanted
                found[end] += group.incoming and kind in wanted
            asked = [each for each in range(NODES) if bits is None or bits[each]]
            given_up = degrees.lengths_on_host(group, plan, graph, dtype, anchors)
            assert given_up.dtype == dtype
            assert given_up.tolist() == [found[each] for each in asked]


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@pytest.mark.parametrize("text", ["(a)-->(b)-->(c)", "(a)<--(b)-->(c), (b)-->(d)"])
def test_no_segment_is_cut_if_only_degrees_are_read(context, text):
    graph = make_graph([("", {})] * 40, [(a, "R", b, {}) for a in range(40) for b in range(a)])
    text = f"MATCH {text} RETURN count(*)"
    whole, _ = rows(context, graph, text)
    found, report = rows(context, graph, text, entries=16, **IN_PARTS)
    assert found == whole
    assert "relationships stay on the host" in str(list(report.steps))

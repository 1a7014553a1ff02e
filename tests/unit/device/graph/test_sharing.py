"""A state's copy on the device is patched from the previous state's copy, or shares its arrays."""

import gc
from dataclasses import replace

import numpy as np
import pytest
from random_database import RandomDatabase

from gpugda.data.csr import Csr, CsrParts
from gpugda.data.increments.apply import applied
from gpugda.data.patches import changing
from gpugda.data.patches.patched import Patched
from gpugda.device.graph import sharing
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.segments import whole_bytes
from gpugda.device.memory.buffers import MemoryBudget
from gpugda.execute.pipeline import plan_of
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.query.prepare import prepare

BUDGET = 1 << 30
DIRECTIONS = ("outgoing", "incoming")


@pytest.fixture(autouse=True)
def patch_all(monkeypatch):
    monkeypatch.setattr(changing, "PATCHED_FROM", 0)


def states(database, count, size=3):
    """Data graphs of a database, one per transaction."""
    graph, version = database.graph(), database.server.version_of()
    yield graph
    for _ in range(count):
        database.transact(size)
        changes = database.changes.changes_since(version)
        graph, version = applied(graph, changes), changes.version
        yield graph


def check(device_graph):
    """Asserts that the arrays of the rows equal the host's."""
    found = device_graph.csr_arguments(MemoryBudget(BUDGET))
    for csr, arrays in (
        (device_graph.graph.outgoing, found[:4]),
        (device_graph.graph.incoming, found[4:9]),
    ):
        host = (csr.neighbours, csr.run_offsets, csr.run_types, csr.run_starts)
        for array, expected in zip(arrays, (*host, csr.relationship_indexes), strict=False):
            np.testing.assert_array_equal(device_graph._workspace.download(array), expected)


@pytest.fixture
def made(monkeypatch):
    """A list that grows with each array patched from an older one."""
    found = []

    def spied(make):
        def spy(*arguments):
            result = make(*arguments)
            if result:
                found.append(make.__name__)
            return result

        return spy

    for make in (sharing.patch_array, sharing.patch_in_place):
        monkeypatch.setattr(sharing, make.__name__, spied(make))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_each_state_is_patched_from_the_previous_one(context, made, seed):
    current = None
    for graph in states(RandomDatabase(seed, 200), 8):
        following = DeviceGraph(context, graph, like=current)
        if current is not None:
            current.close()
        current = following
        check(current)
    assert len(made) > 8 * 4
    current.close()
    assert current.nbytes == 0


def test_patching_goes_on_after_compaction(context, made, monkeypatch):
    """Only short arrays and reported changes of place are transferred again."""
    monkeypatch.setattr(changing, "PATCHED_FROM", 100)
    monkeypatch.setattr("gpugda.data.patches.patched.FEW_STRETCHES", 1 << 20)
    older, current, sent = [], None, []
    upload = DeviceGraph._upload
    for number, graph in enumerate(states(RandomDatabase(5, 200), 9)):
        following = DeviceGraph(context, graph, like=current)
        if current is not None:
            current.close()
        current = following
        check(current)
        if number == 0:
            monkeypatch.setattr(
                DeviceGraph, "_upload", lambda *given: sent.append(given) or upload(*given)
            )
        older.append(graph)
        if number in (4, 7):
            assert rebase_all(graph, older[number - 2])
    assert sent == []
    current.close()


@pytest.mark.parametrize("most", [sharing._MAX_PATCHES, 1])
def test_compaction_makes_no_unneeded_array(context, made, monkeypatch, most):
    """An array requested after several compactions is patched from the first state's array."""
    monkeypatch.setattr(changing, "PATCHED_FROM", 100)
    monkeypatch.setattr("gpugda.data.patches.patched.FEW_STRETCHES", 1 << 20)
    monkeypatch.setattr(sharing, "_MAX_PATCHES", most)
    older, current, sent = [], None, []
    for number, graph in enumerate(states(RandomDatabase(5, 200), 12)):
        following = DeviceGraph(context, graph, like=current)
        if current is None:
            check(following)
        else:
            current.close()
        current = following
        older.append(graph)
        if number in (4, 7, 10):
            assert rebase_all(graph, older[number - 2])
    assert not made
    upload = DeviceGraph._upload
    monkeypatch.setattr(DeviceGraph, "_upload", lambda *given: sent.append(given) or upload(*given))
    check(current)
    assert bool(sent) == (most == 1)
    assert bool(made) == (most > 1)
    current.close()
    assert current.nbytes == 0


def rebase_all(graph, older):
    """Does what the compactor does."""
    found = []
    for way in DIRECTIONS:
        for array, before in zip(getattr(graph, way).parts, getattr(older, way).parts, strict=True):
            if isinstance(array, Patched) and isinstance(before, Patched):
                before.whole()
                found.append(array.rebase(before))
    return any(found)


def test_a_query_compacts_no_array_on_the_host(context):
    """Not even to determine the size of the graph."""
    texts = ("MATCH (a)-->(b)-->(c) RETURN count(*)", "MATCH (a)-->(b) RETURN id(a), id(b)")
    following = states(RandomDatabase(1, 200), 3)
    first = next(following)
    first.parallel_counts()  # as an earlier query did
    for text in texts:
        assert plan_of(prepare(text), first, "extend").pattern.steps
    *_, older, graph = following
    copies = [DeviceGraph(context, older)]
    copies[0].csr_arguments(MemoryBudget(BUDGET))
    copies.append(DeviceGraph(context, graph, like=copies[0]))
    for text in texts:
        pipeline = plan_of(prepare(text), graph, "extend").pipeline
        pipeline.run(graph, ExtendStrategy(copies[1]), {}, StrategyReport(), None)
    # With many types, run starts are located once per state.
    names = [name for name in CsrParts._fields if name != "run_offsets"]
    for csr in (graph.outgoing, graph.incoming):
        arrays = {name: getattr(csr.parts, name) for name in names}
        arrays = {name: each for name, each in arrays.items() if isinstance(each, Patched)}
        assert len(arrays) >= 3
        assert [name for name, each in arrays.items() if each._whole is not None] == []
    assert whole_bytes(graph) == whole_bytes(made_whole(graph))
    for copy in copies:
        copy.close()


def made_whole(graph):
    """The same graph with materialised arrays."""
    rows = {
        each: Csr(*(getattr(getattr(graph, each), name) for name in CsrParts._fields))
        for each in DIRECTIONS
    }
    return replace(graph, **rows)


def test_an_older_state_stays_readable(context, made):
    """Also while arrays that others released are written again."""
    readers, current = [], None
    for number, graph in enumerate(states(RandomDatabase(7, 200), 9)):
        following = DeviceGraph(context, graph, like=current)
        if current is not None:
            current.close()
        current = following
        check(current)
        if number in (2, 5):
            reading = current.use()
            reading.__enter__()
            readers.append((current, reading))
        for reader, _ in readers:
            check(reader)
    assert made
    for reader, reading in readers:
        check(reader)
        reading.__exit__(None, None, None)
        assert reader.nbytes == 0
    check(current)
    current.close()
    assert current.nbytes == 0


def test_states_without_a_query_are_patched_over_at_once(context, made):
    current = None
    for number, graph in enumerate(states(RandomDatabase(3, 100), 4)):
        following = DeviceGraph(context, graph, like=current)
        if number == 0:
            following.csr_arguments(MemoryBudget(BUDGET))
        if current is not None:
            current.close()
        current = following
    assert not made
    check(current)
    # Each at once, over all states.
    assert 4 < len(made) <= 10


def test_freed_entries_are_uploaded_again(context, made):
    """Arrays patched from an earlier state's entries are not used once their memory is freed."""
    current = None
    for graph in states(RandomDatabase(5, 100), 3):
        following = DeviceGraph(context, graph, like=current)
        if current is not None:
            current.close()
        current = following
        check(current)
        with current.use():
            assert current.free_entries()
            check(current)
    assert made
    current.close()
    assert current.nbytes == 0


def test_without_memory_for_both_states_arrays_are_uploaded(context, made, monkeypatch):
    monkeypatch.setattr(sharing, "_SHARE_OF_MEMORY", 1 << 60)
    current = None
    for graph in states(RandomDatabase(3, 100), 3):
        following = DeviceGraph(context, graph, like=current)
        check(following)
        current = following
    assert not made


@pytest.mark.slow
def test_memory_does_not_grow_with_the_states(context):
    current, sizes = None, []
    for graph in states(RandomDatabase(1, 200), 12, size=1):
        following = DeviceGraph(context, graph, like=current)
        following.csr_arguments(MemoryBudget(BUDGET))
        if current is not None:
            current.close()
        current = following
        gc.collect()
        sizes.append(current.nbytes)
    assert max(sizes) < 3 * sizes[0]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)",
        "MATCH (a:A)--(b)-[:R]->(c) RETURN count(*)",
        "MATCH (a:A)-[r:R]->(b:B)<-[s:S]-(c) RETURN id(a), id(r), id(s)",
    ],
)
def test_a_query_compacts_no_array_of_entries(context, made, text):
    """That would take time proportional to all relationships for each transaction."""
    patched, current = [], None
    for graph in states(RandomDatabase(4, 200), 4):
        following = DeviceGraph(context, graph, like=current)
        if current is not None:
            current.close()
        current = following
        plan = plan_of(prepare(text), graph, "extend")
        plan.pipeline.run(graph, ExtendStrategy(current), {}, StrategyReport())
        for parts in (graph.outgoing.parts, graph.incoming.parts):
            arrays = [parts.neighbours, parts.relationship_indexes]
            patched += [each for each in arrays if isinstance(each, Patched)]
    assert patched
    assert made
    assert [each for each in patched if each._whole is not None] == []
    current.close()

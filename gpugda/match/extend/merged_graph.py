"""Merged lists of a graph, for steps that would otherwise read several lists per link.

A step along an undirected relationship, or along several types, then has one sorted list per node,
as a step along a directed relationship of one type has. A GPU makes the lists as soon as the joins
that could have used them have taken as long as making them. They are kept, and freed when memory is
short. They hold no relationship indexes: steps that need to know the relationship do not use them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.device.graph.directory import arrays_of
from gpugda.device.launch.derived_lists import ListKind, MergeKernels, make_hub_bitmaps
from gpugda.device.launch.extend import LinkFlags
from gpugda.errors import MemoryLimitError
from gpugda.match.extend.drafts import ExtendKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.derived_lists import HubBitmaps, MergedLists
    from gpugda.device.launch.extend import Extension, Link
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundRelationship


__all__ = [
    "MergedGraph",
    "Places",
    "Source",
    "extension_with_places",
    "graph_arguments",
    "is_directed",
    "list_kind",
    "list_kinds",
    "list_places",
    "required_places",
    "source_of",
]

Source = ListKind | bool
"""A link's list: a merged one, or the graph's own, where True means incoming."""

_WITH_NODE = (ExtendKind.EXTEND, ExtendKind.COUNT)


def list_kind(each: BoundRelationship, end: int, graph: DataGraph) -> ListKind:
    """The kind of list that leads from one end of a query relationship to the other."""
    starts, types = each.source == end, each.types
    if types is not None and len(types) == len(graph.types):
        types = None
    return ListKind(types, starts or not each.directed, not starts or not each.directed)


def is_directed(kind: ListKind) -> bool:
    """True if the list holds relationships of one direction."""
    return not (kind.outgoing and kind.incoming)


def source_of(kind: ListKind, graph: DataGraph) -> Source:
    """The graph's own lists if they hold the same entries, otherwise the merged lists."""
    count = len(graph.types) if kind.types is None else len(kind.types)
    return kind if count > 1 or not is_directed(kind) else kind.incoming


def list_kinds(
    steps: Iterable[ExtendStep], relationships: Sequence[BoundRelationship], graph: DataGraph
) -> frozenset[ListKind]:
    """The kinds of merged lists that the steps could read."""
    found = [
        source
        for step in steps
        if step.kind in _WITH_NODE
        for source in _sources(step, relationships, graph)
    ]
    return frozenset(each for each in found if isinstance(each, ListKind))


def list_places(
    step: ExtendStep, relationships: Sequence[BoundRelationship], graph: DataGraph
) -> tuple[Source | None, Source | None]:
    """What replaces the graph's outgoing and its incoming lists; None if a place is unused."""
    sources = _sources(step, relationships, graph)
    places: list[Source | None] = [own if own in sources else None for own in (False, True)]
    for each in dict.fromkeys(sources):
        if isinstance(each, ListKind):
            # A kind uses the same place in all steps unless that is taken.
            first = int(each.incoming)
            places[first if places[first] is None else 1 - first] = each
    return places[0], places[1]


def required_places(
    step: ExtendStep, relationships: Sequence[BoundRelationship], graph: DataGraph
) -> tuple[Source | None, Source | None]:
    """As `list_places`, for any step: a step without merged lists gets the graph's own lists."""
    sources = _sources(step, relationships, graph)
    if not step.merged and any(isinstance(each, ListKind) for each in sources):
        return False, True
    return list_places(step, relationships, graph)


def extension_with_places(
    step: ExtendStep,
    places: tuple[Source | None, Source | None],
    relationships: Sequence[BoundRelationship],
    graph: DataGraph,
) -> Extension:
    """The step's extension with links that refer to these places."""
    sources = _sources(step, relationships, graph)
    links = zip(step.extension.links, sources, strict=True)
    return step.extension._replace(links=tuple(_link(link, each, places) for link, each in links))


def _sources(
    step: ExtendStep, relationships: Sequence[BoundRelationship], graph: DataGraph
) -> list[Source]:
    return [
        source_of(list_kind(relationships[each], end, graph), graph)
        for each, end in zip(step.links, step.bound_ends, strict=True)
    ]


def _link(link: Link, source: Source, places: tuple[Source | None, Source | None]) -> Link:
    if not isinstance(source, ListKind):
        return link
    is_incoming = places[1] == source
    flags = link.flags & (LinkFlags.DISTINCT | LinkFlags.SEVERAL)
    flags |= LinkFlags.PLAIN | LinkFlags.SORTED_ROWS
    return link._replace(outgoing=not is_incoming, incoming=is_incoming, types=None, flags=flags)


_SECONDS = 1e-3
_SECONDS_PER_ENTRY, _SECONDS_PER_RUN = 2e-9, 6e-9
"""Expected seconds to make lists: constant, per entry, and per run beyond one of each node.
Measured: 5.8 s for 1.1 billion entries in 564 million runs."""
_SHARE = 0.25
"""Share of the free memory for the lists of one kind."""
_NO_RUNS = np.zeros(2, dtype=np.uint32)

Places = tuple[Source | None, Source | None]
"""The lists in the places where kernels look for outgoing and for incoming lists."""


class MergedGraph:
    """The merged lists of one graph, shared by its queries.

    An array is freed when its last holder releases it: a run can continue with lists that were
    dropped.

    Attributes:
        version: Changes whenever the set of lists changes.
    """

    def __init__(self) -> None:
        self.version = 0
        self._lists: dict[ListKind, MergedLists] = {}
        self._hubs: dict[Places, HubBitmaps] = {}
        self._seconds: dict[ListKind, float] = {}
        self._refused: set[ListKind] = set()
        self._has_room = True
        # Reentrant: making lists may need the last memory, so that kept lists are dropped
        # meanwhile.
        self._lock = threading.RLock()

    @property
    def lists(self) -> Mapping[ListKind, MergedLists]:
        """The lists that exist now."""
        return dict(self._lists)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        lists, hubs = tuple(self._lists.values()), tuple(self._hubs.values())
        bitmaps = sum(array.nbytes for each in hubs for array in _arrays(each))
        return bitmaps + sum(each.nbytes for each in lists)

    def note(self, kinds: Iterable[ListKind], seconds: float) -> None:
        """Records the time of a join that could have used lists of these kinds.

        It does not contain what is done once for a query or a graph, such as filtering: lists do
        not save that.
        """
        with self._lock:
            for each in kinds:
                if each not in self._lists and each not in self._refused:
                    self._seconds[each] = self._seconds.get(each, 0.0) + seconds

    def make_due(self, run: Run) -> None:
        """Makes the lists that pay off by now, if they fit; the run holds the device."""
        if not self._seconds or not self._has_room:
            return
        with self._lock:
            for kind in [each for each in self._seconds if self._pays(run, each)]:
                del self._seconds[kind]
                if not (self._fits(run, kind) and self._make(run, kind)):
                    self._refused.add(kind)

    def _pays(self, run: Run, kind: ListKind) -> bool:
        return self._seconds[kind] >= _expected_seconds(run, kind)

    def _fits(self, run: Run, kind: ListKind) -> bool:
        most = 4 * (_max_entries(run, kind) + run.graph.graph.node_count)
        return most <= run.workspace.available * _SHARE

    def _make(self, run: Run, kind: ListKind) -> bool:
        workspace = run.workspace
        try:
            with workspace.reclaiming(MemoryLimitError), run.stage("merge"):
                made = _merged(run, kind)
        except MemoryLimitError:
            return False
        if made is None or not self._has_room:
            return False
        workspace.hand_over(made.neighbours, made.device_starts)
        run.graph.graph.note_max_between(kind.types, made.most, directed=is_directed(kind))
        self._lists[kind] = made
        self.version += 1
        return True

    def hubs(self, run: Run, lists: Mapping[ListKind, MergedLists], places: Places) -> HubBitmaps:
        """Bitmaps of the longest lists in these places."""
        with self._lock:
            known = self._hubs.get(places)
            if known is None:
                known = _hubs(run, lists, places)
                run.workspace.hand_over(*_arrays(known))
                if self._has_room:
                    self._hubs[places] = known
            return known

    def drop(self) -> int:
        """Drops all lists and makes no more. Returns the bytes this frees once they are unused."""
        with self._lock:
            freed = self.nbytes
            if freed:
                self._lists.clear()
                self._hubs.clear()
                self._has_room = False
                self.version += 1
            return freed


def graph_arguments(run: Run, lists: Mapping[ListKind, MergedLists], places: Places) -> list[Any]:
    """Arguments for ``GRAPH_PARAMETERS``, with merged lists in their places."""
    found = run.graph.csr_arguments(run.workspace.budget)
    for place, source in enumerate(places):
        if isinstance(source, ListKind):
            found[arrays_of(place)] = lists[source].csr
    return found


def _max_entries(run: Run, kind: ListKind) -> int:
    return run.graph.graph.relationship_count * (kind.outgoing + kind.incoming)


def _expected_seconds(run: Run, kind: ListKind) -> float:
    graph = run.graph.graph
    directions = ((graph.outgoing, kind.outgoing), (graph.incoming, kind.incoming))
    # The length of the parts: reading a patched array would make it whole for each query.
    runs = sum(len(csr.parts.run_types) for csr, is_wanted in directions if is_wanted)
    more = max(0, runs - graph.node_count * (kind.outgoing + kind.incoming))
    return _SECONDS + _max_entries(run, kind) * _SECONDS_PER_ENTRY + more * _SECONDS_PER_RUN


def _merged(run: Run, kind: ListKind) -> MergedLists | None:
    graph, workspace = run.graph.graph, run.workspace
    types = range(len(graph.types)) if kind.types is None else kind.types
    return MergeKernels(run.graph.context).merged(
        workspace,
        run.kernels.prefix_sum,
        run.graph.csr_arguments(workspace.budget),
        kind,
        graph.node_count,
        (graph.relationship_count, graph.relationship_count),
        has_loops=any(graph.statistics.loop_counts[each] for each in types),
    )


def _hubs(run: Run, lists: Mapping[ListKind, MergedLists], places: Places) -> HubBitmaps:
    arguments, workspace = graph_arguments(run, lists, places), run.workspace
    return make_hub_bitmaps(
        workspace,
        [_starts(run, lists, each) for each in places],
        [arguments[arrays_of(0)], arguments[arrays_of(1)]],
        run.graph.words,
        int(workspace.available * run.graph.context.profile.hub_share),
    )


def _starts(
    run: Run, lists: Mapping[ListKind, MergedLists], source: Source | None
) -> NDArray[np.uint32]:
    if source is None:
        return _NO_RUNS
    if isinstance(source, ListKind):
        return lists[source].starts
    return run.graph.starts_of("incoming" if source else "outgoing")


def _arrays(hubs: HubBitmaps) -> list[DeviceArray]:
    return [each for each in (*hubs.slots, hubs.bits) if each is not None]

"""Which steps can read merged lists, and in which places the kernels find these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.derived_lists import ListKind
from gpugda.device.launch.extend import LinkFlags
from gpugda.match.extend.drafts import ExtendKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.extend import Extension, Link
    from gpugda.match.extend.step import ExtendStep
    from gpugda.plan.plan import BoundRelationship

__all__ = [
    "Source",
    "extension_with_places",
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

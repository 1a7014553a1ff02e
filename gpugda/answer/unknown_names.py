"""Warnings and Neo4j's notifications about names in a query that the data graph does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gpugda.query.notices import Notice
from gpugda.query.reads import Named, names_in, names_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gpugda.data.data_graph import DataGraph
    from gpugda.loading import LoadedGraph
    from gpugda.query.reads import KindAndName
    from gpugda.query.statement import Statement

__all__ = ["names_to_look_up", "remarks_on_names"]


class _Words(NamedTuple):
    code: str
    gql_status: str
    status: str
    title: str
    missing: str
    what: str
    sentence: str


_WORDS: Final = {
    "label": _Words(
        "UnknownLabelWarning",
        "01N50",
        "label does not exist. The label",
        "The provided label is not in the database.",
        "label name",
        "labels",
        "no node has the label",
    ),
    "type": _Words(
        "UnknownRelationshipTypeWarning",
        "01N51",
        "relationship type does not exist. The relationship type",
        "The provided relationship type is not in the database.",
        "relationship type",
        "relationship types",
        "no relationship has the type",
    ),
    "property": _Words(
        "UnknownPropertyKeyWarning",
        "01N52",
        "property key does not exist. The property",
        "The provided property key is not in the database",
        "property name",
        "property names",
        "nothing has the property",
    ),
}


def remarks_on_names(
    text: str, loaded: LoadedGraph, names: Collection[KindAndName] | None = None
) -> dict[str, Any]:
    """Returns ``warnings``, one sentence per unknown name, and ``notices``, one per occurrence.

    Both are empty for a part of a database, because the rest may have the names.

    Args:
        text: The query.
        loaded: The graph.
        names: The result of `names_to_look_up`; if all of these exist, the text is not searched
            for their places.
    """
    graph, part = loaded.graph, loaded.projection
    if part.labels is not None or part.types is not None:
        return {"warnings": (), "notices": ()}
    if names is not None and not any(_is_unknown(each, graph) for each in names):
        return {"warnings": (), "notices": ()}
    unknown = [each for each in names_in(text) if _is_unknown(each[:3], graph)]
    first = {(each.kind, each.name): each for each in reversed(unknown)}
    return {
        "warnings": tuple(_sentence(each, text, graph) for each in reversed(first.values())),
        "notices": tuple(_notice(each) for each in unknown),
    }


def names_to_look_up(query: Statement, graph: DataGraph) -> tuple[KindAndName, ...]:
    """Names in a query that may not exist in this graph, now or once more of it was read.

    A label or type that exists now always will, so it is left out.
    """
    return tuple(
        each for each in names_of(query) if each[0] == "property" or _is_unknown(each, graph)
    )


def _is_unknown(each: KindAndName, graph: DataGraph) -> bool:
    kind, name, of_relationship = each
    if kind == "label":
        return graph.labels.get(name) is None
    if kind == "type":
        return graph.types.get(name) is None
    counts = graph.statistics.distinct_counts, graph.statistics.relationship_distinct_counts
    own, other = reversed(counts) if of_relationship else counts
    # The other kind's properties may be unread, so only its read ones are known; ours are read.
    return name not in own and name not in other.keys()  # noqa: SIM118 - only keys that were read


def _sentence(each: Named, text: str, graph: DataGraph) -> str:
    line, column = each.span.place(text)
    near = _nearest(each.name, _known(each, graph))
    sign = "" if each.kind == "property" else ":"
    hint = f"; did you mean {sign}{near}?" if near else ""
    place = f"line {line}, column {column}"
    return f"{_WORDS[each.kind].sentence} {sign}{each.name} ({place}){hint}"


def _known(each: Named, graph: DataGraph) -> Iterable[str]:
    if each.kind == "label":
        return graph.labels.names
    if each.kind == "type":
        return graph.types.names
    statistics = graph.statistics
    return (*statistics.distinct_counts, *statistics.relationship_distinct_counts)


def _nearest(name: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # few queries have unknown names

    by_folded = {each.casefold(): each for each in known}
    found = get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[found[0]] if found else None


def _notice(each: Named) -> Notice:
    words = _WORDS[each.kind]
    return Notice(
        code=words.code,
        gql_status=words.gql_status,
        status=(
            f"warn: {words.status} `{each.name}` does not exist. Verify that the spelling is "
            "correct."
        ),
        title=words.title,
        description=(
            f"One of the {words.what} in your query is not available in the database, make sure "
            "you didn't misspell it or that the label is available when you run this statement in "
            f"your application (the missing {words.missing} is: {each.name})"
        ),
        severity="WARNING",
        category="UNRECOGNIZED",
        span=each.span,
    )

"""Which columns of a table hold ids, labels, ends and types: those named, or by usual names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["ColumnNames", "GivenNames", "begins_with_id", "usual_ends"]

_IDS = ("id", "nodeid", "vertexid")
_LABELS = ("labels",)
_TYPES = ("type", "reltype", "relationshiptype", "edgetype")
_LABEL = "label"
_ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("src", "dest"),
    ("src", "tgt"),
    ("source", "destination"),
    ("from", "to"),
    ("id1", "id2"),
    ("node1", "node2"),
)
# Bare, these name properties of nodes as well: the start of a project, the subject of a mail.
_AMBIGUOUS_ENDS = (("start", "end"), ("head", "tail"), ("subject", "object"))
_SUFFIXES = ("nodeid", "vertexid", "node", "vertex", "id")


@value(frozen=True, slots=True)
class ColumnNames:
    """Names of the columns of one table that have a special meaning.

    Args:
        id: Ids of nodes.
        labels: Labels of nodes; the column is optional.
        source: Ids of start nodes.
        target: Ids of end nodes.
        type: Types of relationships; the column is optional.
        keep_ids: True if the ids become a property, too.
    """

    id: str = "id"
    labels: str = "labels"
    source: str = "source"
    target: str = "target"
    type: str = "type"
    keep_ids: bool = True


@value(frozen=True, slots=True)
class GivenNames:
    """Names that the user gave, None for those to find among the columns of each table.

    Args:
        id: As in `ColumnNames`, like all that follow.
        labels: Labels of nodes.
        source: Start nodes.
        target: End nodes.
        type: Types.
        keep_ids: True if ids become a property; None: unless the column's name begins with ``_``.
    """

    id: str | None = None
    labels: str | None = None
    source: str | None = None
    target: str | None = None
    type: str | None = None
    keep_ids: bool | None = None

    def of_nodes(self, columns: Collection[str], key: str = "") -> ColumnNames:
        """The names in a table of nodes.

        Args:
            columns: The table's columns.
            key: Its label. If it has none, a column ``label`` holds labels; else a property.
        """
        id_name = self.id or _own("_id", columns) or _first((*_IDS, f"{key}id"), columns) or "id"
        others = _LABELS if key else (*_LABELS, _LABEL)
        labels = self.labels or _own("_labels", columns) or _first(others, columns) or "labels"
        keep = not id_name.startswith("_") if self.keep_ids is None else self.keep_ids
        return ColumnNames(id_name, labels, keep_ids=keep)

    def of_relationships(self, columns: Collection[str], key: str = "") -> ColumnNames:
        """The names in a table of relationships; ``key`` is their type, as in `of_nodes`."""
        source, target = usual_ends(columns) or ("source", "target")
        others = _TYPES if key else (*_TYPES, _LABEL)
        kind = self.type or _own("_type", columns) or _first(others, columns) or "type"
        return ColumnNames(source=self.source or source, target=self.target or target, type=kind)


def usual_ends(columns: Collection[str], *, certain: bool = False) -> tuple[str, str] | None:
    """The names of the columns of start and end nodes, if they have usual names.

    ``source`` and ``target``, ``from`` and ``to``, ``src_id`` and ``dst_id``, ``FromNodeId`` and
    ``ToNodeId``, …; columns named ``_source`` and ``_target`` are preferred.

    Args:
        columns: The table's columns.
        certain: True to ignore names that properties of nodes have, too, as ``start`` and ``end``.
    """
    if {"_source", "_target"} <= set(columns):
        return "_source", "_target"
    plain = _by_plain_name(columns)
    bare = {_without_suffix(name): column for name, column in reversed(plain.items())}
    suffixed = {
        _without_suffix(name): column
        for name, column in reversed(plain.items())
        if _without_suffix(name) != name
    }
    choices = [(plain, _ENDS), (bare, _ENDS), (suffixed, _AMBIGUOUS_ENDS)]
    if not certain:
        choices += [(plain, _AMBIGUOUS_ENDS), (bare, _AMBIGUOUS_ENDS)]
    for names, ends in choices:
        for source, target in ends:
            if source in names and target in names:
                return names[source], names[target]
    return None


def begins_with_id(columns: Collection[str]) -> bool:
    """True if the first column is named like an id, such as ``project_id``."""
    return _plain(next(iter(columns), "")).endswith("id")


def _own(name: str, columns: Collection[str]) -> str | None:
    """A name that gpugda itself writes, whose column is no property."""
    return name if name in columns else None


def _first(wanted: Collection[str], columns: Collection[str]) -> str | None:
    plain = _by_plain_name(columns)
    found = (plain[name] for name in map(_plain, wanted) if name in plain)
    return next(found, None)


def _by_plain_name(columns: Collection[str]) -> dict[str, str]:
    """Columns by plain name; of several, the one that is written so, else the first."""
    plain = {_plain(column): column for column in reversed(list(columns))}
    return {name: name if name in columns else column for name, column in plain.items()}


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _without_suffix(name: str) -> str:
    for suffix in _SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name

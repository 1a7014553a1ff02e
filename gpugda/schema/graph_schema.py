"""What a graph holds, as a value that prints itself: labels, types, connections, properties."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError
from gpugda.result.text import format_value
from gpugda.schema.drawing import schema_drawing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpugda.schema.drawing import Pair

__all__ = [
    "COLUMNS",
    "Connection",
    "GraphSchema",
    "LabelSchema",
    "PropertySchema",
    "TypeSchema",
]

COLUMNS = (
    "kind",
    "name",
    "count",
    "property",
    "types",
    "null_share",
    "distinct",
    "minimum",
    "maximum",
    "sample",
)
"""The columns of `GraphSchema.to_df`."""
_INCOMPLETE = "Only the properties that queries have needed so far were read and are listed."
_SHOWN_CONNECTIONS = 6
_SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class PropertySchema:
    """One property key of the nodes with a label, or of the relationships of a type.

    Attributes:
        key: The property key.
        types: Names of Cypher's types, such as ``STRING`` or ``LIST<INTEGER>``.
        count: Number of nodes or relationships that have a value.
        nulls: Number of those without one.
        distinct: Number of distinct values.
        minimum: The least number or text (NaN left out); None for other types.
        maximum: The greatest, likewise.
        sample: One of the values.
    """

    key: str
    types: tuple[str, ...]
    count: int
    nulls: int
    distinct: int
    minimum: Any
    maximum: Any
    sample: Any

    @property
    def null_share(self) -> float:
        """Share of the nodes or relationships without a value, 0 to 1."""
        return self.nulls / (self.count + self.nulls)


@dataclass(frozen=True, slots=True)
class LabelSchema:
    """A label, the number of nodes that have it, and their properties."""

    name: str
    count: int
    properties: tuple[PropertySchema, ...]


@dataclass(frozen=True, slots=True)
class Connection:
    """Relationships of one type between nodes with two labels.

    Attributes:
        start: Label of the start nodes; None: nodes without a label.
        end: Label of the end nodes, likewise.
        count: Number of these relationships; one counts for each pair of its nodes' labels.
    """

    start: str | None
    end: str | None
    count: int


@dataclass(frozen=True, slots=True)
class TypeSchema:
    """A relationship type, the number of its relationships, what they connect, and properties."""

    name: str
    count: int
    connections: tuple[Connection, ...]
    properties: tuple[PropertySchema, ...]


@dataclass(frozen=True, slots=True)
class GraphSchema:
    """What a graph holds. Print it; a notebook shows it as tables with a drawing.

    Attributes:
        node_count: Number of nodes.
        relationship_count: Number of relationships.
        labels: The most frequent first.
        types: Relationship types, likewise.
        unlabelled: Number of nodes without a label.
        complete: False for a database that may have properties which no query has needed so far;
            these are not described.

    Example:
        >>> import gpugda
        >>> with gpugda.connect("sample:wordnet") as wordnet:
        ...     [(label.name, label.count) for label in wordnet.schema.labels][:2]
        [('Word', 122864), ('Synset', 99653)]
    """

    node_count: int
    relationship_count: int
    labels: tuple[LabelSchema, ...]
    types: tuple[TypeSchema, ...]
    unlabelled: int = 0
    complete: bool = True

    @property
    def property_keys(self) -> tuple[str, ...]:
        """The keys that have values, sorted."""
        described = [*(each.properties for each in self.labels)]
        described += [each.properties for each in self.types]
        return tuple(sorted({one.key for properties in described for one in properties}))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A row of `COLUMNS` per label or type and property; one row if it has no properties."""
        described = [("label", each.name, each.count, each.properties) for each in self.labels]
        described += [("type", each.name, each.count, each.properties) for each in self.types]
        for kind, name, count, properties in described:
            for one in properties:
                measured = ", ".join(one.types), one.null_share, one.distinct
                values = one.minimum, one.maximum, one.sample
                yield kind, name, count, one.key, *measured, *values
            if not properties:
                yield kind, name, count, *(None,) * (len(COLUMNS) - 3)

    def to_df(self) -> Any:
        """The rows as a ``pandas.DataFrame`` with `COLUMNS`.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ConfigurationError("to_df needs pandas: pip install 'gpugda[pandas]'.") from None
        return pd.DataFrame(list(self.rows()), columns=list(COLUMNS))

    def __str__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        return _html(self)


# ------------------------------------------------------------------ as text
def _text(schema: GraphSchema) -> str:
    """Sizes, labels and types, each with its properties and with what the type connects."""
    lines = [f"{schema.node_count:,} nodes, {schema.relationship_count:,} relationships"]
    for label in schema.labels:
        lines.append(f"\n{_label_text(label.name)}  {label.count:,} nodes")
        lines += _properties(label.properties)
    if schema.unlabelled:
        lines.append(f"\n()  {schema.unlabelled:,} nodes without a label")
    for each in schema.types:
        lines.append(f"\n[:{each.name}]  {each.count:,} relationships")
        lines += [
            f"  {_connection_text(each.name, one)}  {one.count:,}"
            for one in each.connections[:_SHOWN_CONNECTIONS]
        ]
        more = len(each.connections) - _SHOWN_CONNECTIONS
        if more > 0:
            lines.append(f"  … and {more:,} more pairs of labels")
        lines += _properties(each.properties)
    if not schema.complete:
        lines.append(f"\n{_INCOMPLETE}")
    return "\n".join(lines)


def _label_text(name: str | None) -> str:
    """``(:Label)``, or ``()`` for nodes without a label."""
    return "()" if name is None else f"(:{name})"


def _connection_text(name: str, connection: Connection) -> str:
    """``(:Start)-[:TYPE]->(:End)``."""
    return f"{_label_text(connection.start)}-[:{name}]->{_label_text(connection.end)}"


def _property_text(one: PropertySchema) -> str:
    """Types, distinct values, share of nulls, and the range or a sample of the values."""
    facts = [" | ".join(one.types), f"{one.distinct:,} distinct"]
    if one.nulls:
        facts.append(f"{one.null_share:.1%} null")
    if one.distinct == 1 or one.minimum is None:
        facts.append(f"such as {_short(one.sample)}")
    else:
        facts.append(f"{_short(one.minimum)} to {_short(one.maximum)}")
    return ", ".join(facts)


def _properties(properties: tuple[PropertySchema, ...]) -> list[str]:
    width = max((len(one.key) for one in properties), default=0)
    return [f"  .{one.key:<{width}}  {_property_text(one)}" for one in properties]


def _short(value: object) -> str:
    text = format_value(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


# ------------------------------------------------------------------ in a notebook
def _html(schema: GraphSchema) -> str:
    """The drawing, a table of labels and a table of types; stands alone, without scripts."""
    labels = [
        (_label_text(each.name), f"{each.count:,}", _property_cell(each.properties))
        for each in schema.labels
    ]
    if schema.unlabelled:
        labels.append(("()", f"{schema.unlabelled:,}", ""))
    types = [
        (
            f"[:{each.name}]",
            f"{each.count:,}",
            _connection_cell(schema, place),
            _property_cell(each.properties),
        )
        for place, each in enumerate(schema.types)
    ]
    size = f"{schema.node_count:,} nodes, {schema.relationship_count:,} relationships"
    remark = "" if schema.complete else f"<p><small>{escape(_INCOMPLETE)}</small></p>"
    return (
        f"<p>{size}</p>{_drawing(schema)}"
        + _table(("label", "nodes", "properties"), labels)
        + _table(("type", "relationships", "connects", "properties"), types)
        + remark
    )


def _connection_cell(schema: GraphSchema, place: int) -> str:
    each = schema.types[place]
    shown = [
        f"{escape(_connection_text(each.name, one))} {one.count:,}"
        for one in each.connections[:_SHOWN_CONNECTIONS]
    ]
    more = len(each.connections) - len(shown)
    return "<br>".join([*shown, f"… and {more:,} more"] if more else shown)


def _property_cell(properties: Iterable[PropertySchema]) -> str:
    return "<br>".join(
        f"<code>{escape(one.key)}</code> {escape(_property_text(one))}" for one in properties
    )


def _table(names: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table whose first two columns are text, the others HTML."""
    head = "".join(f"<th>{name}</th>" for name in names)
    style = ' style="text-align:left"'
    body = "".join(
        f"<tr><td{style}>{escape(first)}</td><td>{count}</td>"
        + "".join(f"<td{style}>{cell}</td>" for cell in cells)
        + "</tr>"
        for first, count, *cells in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _drawing(schema: GraphSchema) -> str:
    labels: list[str | None] = [each.name for each in schema.labels]
    types: dict[Pair, list[str]] = {}
    for each in schema.types:
        for one in each.connections:
            types.setdefault((one.start, one.end), []).append(each.name)
    return schema_drawing([*labels, None] if schema.unlabelled else labels, types)

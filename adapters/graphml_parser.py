"""Streaming reader of GraphML: converts expat's events to batches.

No document type is followed: a file that declares an entity is rejected, and nothing outside the
file is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, NoReturn, TypeVar
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.values.columns import Column, column_from_arrow, column_from_values
from gpugda.errors import SourceError

from .graphml_bounds import (
    MAX_BATCH_CELLS,
    MAX_BYTES,
    MAX_DEPTH,
    BoundError,
    cells_allowed,
    feed,
)
from .graphml_keys import TYPES, DeclaredKey, convert_value
from .input_files import READ_ERRORS
from .labels import LabelSet, encode_label_sets, split_labels

__all__ = ["read_graphml"]

_Batch = TypeVar("_Batch", NodeBatch, RelationshipBatch)

_BATCH_ROWS = 65_536
_LABELS, _TYPE = "labels", "label"
_REFUSED = {
    "hyperedge": "a hyperedge is not a relationship",
}


def read_graphml(
    stream: BinaryIO, origin: str, *, default_type: str, store_ids: bool | None
) -> tuple[list[NodeBatch], list[RelationshipBatch]]:
    """All nodes and relationships of a file.

    Args:
        stream: The file's bytes.
        origin: The file's name, for messages.
        default_type: Type of relationships without one.
        store_ids: True to keep the attribute ``id`` of nodes and edges as the property ``id``;
            None: unless Neo4j wrote the file, or it has a property ``id`` anyway.

    Raises:
        SourceError: It is not well-formed XML, or not supported GraphML; names the line.
    """
    reader = _Reader(origin, default_type, store_ids)
    try:
        for read in feed(reader.parser, stream):
            reader.check_cells(read)
    except expat.ExpatError as error:
        reason = expat.errors.messages.get(error.code, str(error))
        raise SourceError(f"{origin}, line {error.lineno}: not well-formed XML: {reason}") from None
    except (LookupError, ValueError) as error:
        if reader.begun:
            raise
        raise SourceError(f"{origin}, line 1: the declared encoding: {error}") from error
    except BoundError as error:
        line = reader.parser.CurrentLineNumber
        raise SourceError(f"{origin}, line {line}: {error}") from None
    except READ_ERRORS as error:
        raise SourceError(f"{origin}: cannot be read to its end: {error}") from error
    return reader.finish()


@dataclass(slots=True)
class _Rows:
    """Elements of one kind that wait for a batch."""

    properties: dict[str, list[Any]] = field(default_factory=dict[str, "list[Any]"])
    lines: list[int] = field(default_factory=list[int])
    ids: list[str | None] = field(default_factory=list["str | None"])
    labels: list[LabelSet] = field(default_factory=list[LabelSet])
    sources: list[str] = field(default_factory=list[str])
    targets: list[str] = field(default_factory=list[str])
    types: list[LabelSet] = field(default_factory=list[LabelSet])

    def add_properties(self, values: dict[str, Any], line: int) -> None:
        row = len(self.lines)
        for key, value in values.items():
            column = self.properties.setdefault(key, [])
            column.extend([None] * (row - len(column)))
            column.append(value)
        self.lines.append(line)

    @property
    def is_full(self) -> bool:
        """True if these are enough for a batch."""
        rows = len(self.lines)
        return rows >= _BATCH_ROWS or rows * len(self.properties) >= MAX_BATCH_CELLS

    def columns(self) -> dict[str, Column]:
        count = len(self.lines)
        return {
            key: column_from_values(column + [None] * (count - len(column)))
            for key, column in self.properties.items()
        }


class _Reader:
    """State of the parser between events."""

    def __init__(self, origin: str, default_type: str, store_ids: bool | None) -> None:
        self._origin = origin
        self._default_type = default_type
        self._store_ids = store_ids
        # Only Neo4j and APOC write these attributes; their ids are numbers without meaning.
        self._is_neo4js = False
        self._node_ids: list[pa.Array] = []
        self._edge_ids: list[pa.Array] = []
        self._keys: dict[str, DeclaredKey] = {}
        self._open: list[str] = []
        self.begun = False
        self._attributes: dict[str, str] = {}
        self._data: dict[str, str] = {}
        self._data_key = ""
        self._text: list[str] | None = None
        self._length = 0  # of the text
        self._line = 0
        self._nodes, self._edges = _Rows(), _Rows()
        self._node_batches: list[NodeBatch] = []
        self._relationship_batches: list[RelationshipBatch] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._entity

    def finish(self) -> tuple[list[NodeBatch], list[RelationshipBatch]]:
        self._flush_nodes()
        self._flush_edges()
        return (
            self._with_ids(self._node_batches, self._node_ids),
            self._with_ids(self._relationship_batches, self._edge_ids),
        )

    def _with_ids(self, batches: list[_Batch], ids: list[pa.Array]) -> list[_Batch]:
        """The batches with the property ``id``, if it is wanted and does not exist."""
        wanted = not self._is_neo4js if self._store_ids is None else self._store_ids
        if not wanted or any("id" in batch.properties for batch in batches):
            return batches
        return [
            replace(batch, properties={"id": column_from_arrow(some), **batch.properties})
            if some.null_count < len(some)
            else batch
            for batch, some in zip(batches, ids, strict=True)
        ]

    def check_cells(self, read: int) -> None:
        """Rejects a graph whose memory is far above its file's size.

        Args:
            read: Bytes of the file read so far.

        Raises:
            SourceError: The limit is exceeded.
        """
        cells = 0
        for rows, batches in (
            (self._nodes, self._node_batches),
            (self._edges, self._relationship_batches),
        ):
            keys = set(rows.properties).union(*(batch.properties for batch in batches))
            cells += len(keys) * (len(rows.lines) + sum(batch.count for batch in batches))
        if cells > cells_allowed(read):
            self._fail(
                "too many keys for its elements: as columns they would exceed the memory limit"
            )

    # -------------------------------------------------------------- events
    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.begun = True
        name = tag.rpartition(" ")[2]
        if not self._open and name != "graphml":
            self._fail(f"the outermost element is <{name}>, not <graphml>")
        if name in _REFUSED:
            self._fail(f"<{name}>: {_REFUSED[name]}")
        if name == "graph" and "graph" in self._open:
            self._fail(
                "a graph within a node or edge cannot be read; write its nodes into one graph"
            )
        self._open.append(name)
        if len(self._open) > MAX_DEPTH:
            self._fail(f"elements are nested more than {MAX_DEPTH} deep")
        if name in {"node", "edge"}:
            self._attributes, self._data = attributes, {}
            self._line = self.parser.CurrentLineNumber
        elif name == "key":
            self._declare(attributes)
        elif name == "data":
            self._data_key = self._required(attributes, "key", "data")
            self._text, self._length = [], 0
        elif name == "default":
            self._text, self._length = [], 0

    def _end(self, tag: str) -> None:
        name = self._open.pop()
        if name in {"data", "default"}:
            text, self._text = "".join(self._text or []), None
            self._take_text(name, text)
        elif name == "node":
            self._add_node()
        elif name == "edge":
            self._add_edge()

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)
            self._length += len(text)
            if self._length > MAX_BYTES:
                self._fail(f"a text of more than {MAX_BYTES >> 20} MiB")

    def _entity(self, name: str, *_rest: object) -> None:
        self._fail(f"declares the entity {name!r}; files with entities are refused")

    # -------------------------------------------------------------- elements
    def _declare(self, attributes: dict[str, str]) -> None:
        key_id = self._required(attributes, "id", "key")
        key = DeclaredKey(
            name=attributes.get("attr.name", key_id),
            domain=attributes.get("for", "all"),
            value_type=attributes.get("attr.type", "string").lower(),
            list_type=attributes.get("attr.list", "").lower(),
        )
        for kind in (key.value_type, key.list_type or "string"):
            if kind not in TYPES:
                known = ", ".join(TYPES)
                self._fail(f"the key {key_id!r} has the type {kind!r}; the types are {known}")
        self._keys[self._data_key_of(key_id, key.domain)] = key
        self._data_key = self._data_key_of(key_id, key.domain)

    @staticmethod
    def _data_key_of(key_id: str, domain: str) -> str:
        # The same id may be declared both for nodes and for edges.
        return f"{domain} {key_id}"

    def _find_key(self, key_id: str, domain: str) -> DeclaredKey:
        for place in (domain, "all"):
            found = self._keys.get(self._data_key_of(key_id, place))
            if found is not None:
                return found
        return DeclaredKey(key_id, domain)

    def _take_text(self, element: str, text: str) -> None:
        parent = self._open[-1] if self._open else ""
        if element == "default" and parent == "key":
            self._keys[self._data_key].default = text
        elif element == "data" and parent in {"node", "edge"}:
            self._data[self._data_key] = text

    def _add_node(self) -> None:
        node_id = self._required(self._attributes, "id", "node")
        values = self._values("node")
        labels = values.pop(_LABELS, "")
        rows = self._nodes
        rows.labels.append(split_labels(self._attributes.get(_LABELS, labels)))
        rows.ids.append(node_id)
        self._is_neo4js = self._is_neo4js or _LABELS in self._attributes
        rows.add_properties(values, self._line)
        if rows.is_full:
            self._flush_nodes()

    def _add_edge(self) -> None:
        values = self._values("edge")
        type_name = self._attributes.get(_TYPE) or values.pop(_TYPE, "") or self._default_type
        values.pop(_TYPE, None)
        rows = self._edges
        rows.sources.append(self._required(self._attributes, "source", "edge"))
        rows.targets.append(self._required(self._attributes, "target", "edge"))
        rows.types.append((type_name,))
        rows.ids.append(self._attributes.get("id"))
        self._is_neo4js = self._is_neo4js or _TYPE in self._attributes
        rows.add_properties(values, self._line)
        if rows.is_full:
            self._flush_edges()

    def _values(self, domain: str) -> dict[str, Any]:
        structural = _LABELS if domain == "node" else _TYPE
        texts = {
            key.name: (key, key.default)
            for key in self._keys.values()
            if key.default is not None and key.is_for(domain)
        }
        for key_id, text in self._data.items():
            key = self._find_key(key_id, domain)
            texts[key.name] = (key, text)
        values: dict[str, Any] = {}
        for name, (key, text) in texts.items():
            try:
                values[name] = text if name == structural else convert_value(text or "", key)
            except ValueError as error:
                self._fail(f"<{domain}>, key {name!r}: {error}", self._line)
        return values

    # -------------------------------------------------------------- batches
    def _flush_nodes(self) -> None:
        rows, self._nodes = self._nodes, _Rows()
        codes, label_sets = encode_label_sets(rows.labels)
        batch = NodeBatch(
            count=len(rows.lines),
            ids=pa.array(rows.ids, pa.string()),
            label_codes=codes,
            label_sets=label_sets,
            properties=rows.columns(),
            origin=self._origin,
            rows=np.array(rows.lines, dtype=np.int64),
            row_word="line",
        )
        if batch.count:
            self._node_batches.append(batch)
            self._node_ids.append(batch.ids)

    def _flush_edges(self) -> None:
        rows, self._edges = self._edges, _Rows()
        codes, type_sets = encode_label_sets(rows.types)
        batch = RelationshipBatch(
            count=len(rows.lines),
            source_ids=pa.array(rows.sources, pa.string()),
            target_ids=pa.array(rows.targets, pa.string()),
            type_codes=codes,
            type_names=tuple(name for names in type_sets for name in names),
            properties=rows.columns(),
            origin=self._origin,
            rows=np.array(rows.lines, dtype=np.int64),
            row_word="line",
        )
        if batch.count:
            self._relationship_batches.append(batch)
            self._edge_ids.append(pa.array(rows.ids, pa.string()))

    # -------------------------------------------------------------- errors
    def _required(self, attributes: dict[str, str], name: str, element: str) -> str:
        value = attributes.get(name)
        if value is None:
            self._fail(f"<{element}> has no attribute {name!r}")
        return value

    def _fail(self, message: str, line: int | None = None) -> NoReturn:
        line = self.parser.CurrentLineNumber if line is None else line
        raise SourceError(f"{self._origin}, line {line}: {message}")

"""Syntax nodes of the types that follow ``::``."""

from __future__ import annotations

from gpugda.query.ast_base import Node
from gpugda.types import value

__all__ = ["CypherType", "ListType", "SimpleType", "UnionType", "VectorType"]


class CypherType(Node):
    """A value type."""

    __slots__ = ()


@value(frozen=True, slots=True)
class SimpleType(CypherType):
    """A type without parameters.

    ``name`` is Neo4j's preferred spelling (``INTEGER`` for ``INT``, ``SIGNED INTEGER`` and
    ``INT64``; ``ZONED DATETIME`` for ``TIMESTAMP WITH TIME ZONE``): one of ``ANY``,
    ``BOOLEAN``, ``DATE``, ``DURATION``, ``FLOAT``, ``FLOAT32``, ``INTEGER``, ``INTEGER8``,
    ``INTEGER16``, ``INTEGER32``, ``LOCAL DATETIME``, ``LOCAL TIME``, ``MAP``, ``NODE``,
    ``NOTHING``, ``NULL``, ``PATH``, ``POINT``, ``PROPERTY VALUE``, ``RELATIONSHIP``, ``STRING``,
    ``ZONED DATETIME``, ``ZONED TIME``. ``not_null`` is set by ``NOT NULL`` and ``!``.
    """

    name: str
    not_null: bool = False


@value(frozen=True, slots=True)
class ListType(CypherType):
    """``LIST<element>``, ``ARRAY<element>`` or ``element LIST``."""

    element: CypherType
    not_null: bool = False


@value(frozen=True, slots=True)
class VectorType(CypherType):
    """``VECTOR<coordinate>(dimension)`` of Cypher 25; missing parameters are None."""

    coordinate: CypherType | None
    dimension: int | None
    not_null: bool = False


@value(frozen=True, slots=True)
class UnionType(CypherType):
    """``INTEGER | STRING``, also ``ANY<INTEGER | STRING>``."""

    alternatives: tuple[CypherType, ...]

"""What a column of partial embeddings holds."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Variable"]


class Variable(NamedTuple):
    """A query node or a query relationship, by its position."""

    is_node: bool
    position: int

"""All properties of the nodes and relationships that a result returns as entities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["EntityProperties"]


@dataclass(frozen=True, slots=True, eq=False)
class EntityProperties:
    """Properties by node index and by relationship index.

    Belongs to one result whose data graph does not have all properties.
    """

    nodes: dict[int, dict[str, Any]] = field(default_factory=dict)
    relationships: dict[int, dict[str, Any]] = field(default_factory=dict)

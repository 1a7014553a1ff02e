"""What patterns of MATCH clauses consist of, as they were read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gpugda.plan.logical import ExpandMode

if TYPE_CHECKING:
    from gpugda.plan.logical import StepPattern
    from gpugda.query import ast

__all__ = ["Fixed", "NamedPath", "PathSteps", "Selected", "VariableKind", "Varying"]


class VariableKind:
    """The kind of value of a variable, as far as the patterns determine it."""

    NODE: Final = "node"
    RELATIONSHIP: Final = "relationship"
    RELATIONSHIPS: Final = "list of relationships"
    PATH: Final = "path"
    VALUE: Final = "value"


@dataclass(frozen=True, slots=True)
class Selected:
    """What a path selector requests: number of paths or groups, and conditions in its brackets."""

    mode: ExpandMode = ExpandMode.TRAILS
    most: int = 0
    by_group: bool = False
    conditions: tuple[ast.Expression, ...] = ()


@dataclass(slots=True)
class Varying:
    """A variable-length relationship pattern between two nodes.

    ``given`` names the bound list that the relationships must equal; empty if there is none.
    """

    left: str
    right: str
    name: str
    pattern: ast.RelationshipPattern
    clause: int
    mode: ExpandMode
    predicates: tuple[ast.Expression, ...]
    selected: Selected
    step: StepPattern | None = None
    given: str = ""

    @property
    def names(self) -> frozenset[str]:
        """All variables that it binds."""
        return frozenset((self.name, *(() if self.step is None else self.step.names)))


@dataclass(slots=True)
class Fixed:
    """A relationship pattern of length one between two nodes."""

    left: str
    right: str
    name: str
    pattern: ast.RelationshipPattern
    clause: int


@dataclass(slots=True)
class NamedPath:
    """A path variable: its first node and the columns of its steps."""

    name: str
    start: str
    steps: list[str] = field(default_factory=list)


@dataclass(slots=True)
class PathSteps:
    """A path pattern that was read: first node, last node and the columns of its steps."""

    start: str
    end: str
    steps: list[str] = field(default_factory=list)

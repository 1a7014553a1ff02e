"""What the rules may know besides the logical tree."""

from __future__ import annotations

from enum import StrEnum

from gpugda.types import value

__all__ = ["Facts", "Wanted"]


class Wanted(StrEnum):
    """What the reader of a tree's rows takes of them."""

    ROWS = "rows"
    NUMBER = "number"
    EXISTENCE = "existence"


@value(frozen=True, slots=True)
class Facts:
    """Equal trees and equal facts give equal plans.

    Args:
        wanted: What is taken of the tree's rows: their columns, their number, or whether there is
            one.
    """

    wanted: Wanted = Wanted.ROWS

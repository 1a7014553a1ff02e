"""What the rules may know besides the logical tree."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Facts", "Wanted"]


class Wanted(StrEnum):
    """What the reader of a tree's rows takes of them."""

    ROWS = "rows"
    NUMBER = "number"
    EXISTENCE = "existence"


@dataclass(frozen=True, slots=True)
class Facts:
    """Equal trees and equal facts give equal plans.

    Args:
        wanted: What is taken of the tree's rows: their columns, their number, or whether there is
            one.
    """

    wanted: Wanted = Wanted.ROWS

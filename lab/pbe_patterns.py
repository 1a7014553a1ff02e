"""The patterns q1 to q9 of the paper on PBE, as far as its text describes them.

The paper shows them only in a figure. Its text says that they are small and dense and usual in
subgraph enumeration, that q2 has a large diameter, that all relationships of q6 are
interchangeable, and that those of q9 fall into four classes. The others are the usual patterns of
four and five nodes.
"""

from __future__ import annotations

__all__ = ["PBE_PATTERNS"]

_ENDS = {
    "q1 square": "ab bc cd da",
    "q2 square with a tail": "ab bc cd da ae",
    "q3 square with a diagonal": "ab bc cd da ac",
    "q4 four nodes, all joined": "ab ac ad bc bd cd",
    "q5 house with a diagonal": "ab bc cd da ae be ac",
    "q6 five nodes, all joined": "ab ac ad ae bc bd be cd ce de",
    "q7 wheel of four spokes": "ab bc cd da ea eb ec ed",
    "q8 five nodes, all joined but two": "ac ad ae bc bd be cd ce de",
    "q9 house": "ab bc cd da ae be",
}


def _pattern(ends: str) -> str:
    return ", ".join(f"({pair[0]})--({pair[1]})" for pair in ends.split())


PBE_PATTERNS = {name: _pattern(ends) for name, ends in _ENDS.items()}
"""Patterns by description; undirected and without labels."""

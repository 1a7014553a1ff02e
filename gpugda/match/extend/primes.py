"""Primes for totals that 64 bits cannot hold (Chinese remainder theorem)."""

from __future__ import annotations

import math
from functools import cache

__all__ = ["falling_prime"]

_BELOW = 1 << 31


@cache
def falling_prime(number: int) -> int:
    """The primes below 2**31 in descending order: moduli that kernels can multiply in."""
    below = falling_prime(number - 1) if number else _BELOW + 1
    return next(each for each in range(below - 2, 0, -2) if _is_prime(each))


def _is_prime(number: int) -> bool:
    return all(number % each for each in range(3, math.isqrt(number) + 1, 2))

"""Exact comparison of integers with floats, on arrays.

Arguments are ``int64`` or ``float64`` arrays; one of the two may be a Python number. NumPy would
convert the integers to floats and lose precision above 2^53.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gpugda.expressions.operands import Flags

__all__ = ["are_nan", "numbers_at_most", "numbers_equal", "numbers_less"]

Numbers: TypeAlias = NDArray[Any] | int | float

_EXACT = 2**53
_BEYOND = 2.0**63
_LARGEST = 2**63 - 1


def are_nan(numbers: Numbers) -> Flags:
    """Mask of NaNs."""
    if isinstance(numbers, np.ndarray):
        return np.isnan(numbers) if numbers.dtype.kind == "f" else False
    return isinstance(numbers, float) and math.isnan(numbers)


def numbers_equal(a: Numbers, b: Numbers) -> Flags:
    """``a = b``; never for NaN. The largest integer equals 2^63, as in Neo4j."""
    if _is_float(a) == _is_float(b):
        return _flags(a == b)
    integers, floats = (b, a) if _is_float(a) else (a, b)
    if isinstance(floats, float):
        inside = floats.is_integer() and -_BEYOND <= floats <= _BEYOND
        return _flags(integers == min(int(floats), _LARGEST)) if inside else False
    if isinstance(integers, int):
        near = float(integers)
        is_equal = int(near) == integers or integers == _LARGEST
        return _flags(floats == near) if is_equal else False
    return _equal_arrays(integers, floats)


def numbers_less(a: Numbers, b: Numbers) -> Flags:
    """``a < b``; never for NaN. -0.0 is less than 0."""
    if not _is_float(a) and not _is_float(b):
        return _flags(a < b)
    if _is_float(a) and _is_float(b):
        return _floats_less(a, b)
    if isinstance(a, float):
        return _float_less_than(a, b)
    if isinstance(b, float):
        return _less_than_float(a, b)
    if isinstance(a, int):
        return _integer_less_than(a, b)
    if isinstance(b, int):
        return _less_than_integer(a, b)
    return _mixed_less(a, b)


def numbers_at_most(a: Numbers, b: Numbers) -> Flags:
    """``a <= b``; never for NaN. 0.0 is not at most -0.0."""
    if _is_float(a) == _is_float(b):
        at_most = a <= b
        between = _between_zeros(b, a) if _is_float(a) else None
        return _flags(at_most if between is None else at_most & ~between)
    less = numbers_less(b, a)
    beside = are_nan(a) if _is_float(a) else are_nan(b)
    if isinstance(less, bool) and isinstance(beside, bool):
        return not less and not beside
    return np.logical_not(np.logical_or(less, beside))


def _is_float(numbers: Numbers) -> bool:
    return isinstance(numbers, float) or (
        isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f"
    )


def _flags(flags: Any) -> Flags:
    return flags if isinstance(flags, np.ndarray) else bool(flags)


def _floats_less(a: Numbers, b: Numbers) -> Flags:
    less, between = a < b, _between_zeros(a, b)
    return _flags(less if between is None else less | between)


def _between_zeros(a: Numbers, b: Numbers) -> Any:
    """Mask of the pairs (-0.0, 0.0); None if there are none."""
    if isinstance(a, float) and not (a == 0 and np.signbit(a)):
        return None
    if isinstance(b, float) and (b != 0 or np.signbit(b)):
        return None
    zeros = np.equal(a, 0)
    if not np.any(zeros):
        return None
    zeros &= np.equal(b, 0)
    return zeros & np.signbit(a) & ~np.signbit(b) if np.any(zeros) else None


# ------------------------------------------------------------------ integers and one float
def _less_than_float(integers: Numbers, limit: float) -> Flags:
    if math.isnan(limit) or abs(limit) >= _BEYOND:
        return limit > 0
    return _flags(integers < math.ceil(limit))


def _float_less_than(limit: float, integers: Numbers) -> Flags:
    if math.isnan(limit) or limit >= _BEYOND:
        return False
    if limit < -_BEYOND:
        return True
    if limit == 0 and math.copysign(1.0, limit) < 0:
        return _flags(integers >= 0)
    return _flags(integers > math.floor(limit))


# ------------------------------------------------------------------ floats and one integer
def _less_than_integer(floats: Numbers, limit: int) -> Flags:
    near = float(limit)
    # If the integer is no float, no float lies between it and its nearest one.
    if int(near) == limit:
        return _floats_less(floats, near)
    return _flags(floats < near if near > limit else floats <= near)


def _integer_less_than(limit: int, floats: Numbers) -> Flags:
    near = float(limit)
    if int(near) == limit:
        return _floats_less(near, floats)
    return _flags(floats >= near if near > limit else floats > near)


# ------------------------------------------------------------------ integer and float arrays
def _equal_arrays(integers: Any, floats: Any) -> NDArray[np.bool_]:
    plain: NDArray[np.bool_] = integers == floats  # NumPy converts the integers to floats
    if _all_exact(integers):
        return plain
    inside, below = _floors(floats)
    exact: NDArray[np.bool_] = inside & (integers == below) & (np.floor(floats) == floats)
    exact |= (floats == _BEYOND) & (integers == _LARGEST)
    return exact


def _mixed_less(a: NDArray[Any], b: NDArray[Any]) -> Flags:
    integers, floats = (b, a) if _is_float(a) else (a, b)
    # NumPy converts the integers to floats; only -0.0 is less than an integer's 0.
    plain = a < b
    if _is_float(a):
        zeros = floats == 0
        if zeros.any():
            plain |= zeros & np.signbit(floats) & (integers == 0)
    if _all_exact(integers):
        return plain
    inside, below = _floors(floats)
    if _is_float(a):
        exact = np.where(inside, below < integers, floats < 0)
    else:
        same = (integers == below) & (floats > np.floor(floats))
        exact = np.where(inside, (integers < below) | same, floats > 0)
    return np.where(_exact(integers), plain, exact)


def _exact(integers: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (integers >= -_EXACT) & (integers <= _EXACT)


def _all_exact(integers: NDArray[np.int64]) -> bool:
    return len(integers) == 0 or (integers.min() >= -_EXACT and integers.max() <= _EXACT)


def _floors(floats: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    inside = (floats >= -_BEYOND) & (floats < _BEYOND)
    return inside, np.floor(np.where(inside, floats, 0.0)).astype(np.int64)

"""Percentiles of all groups at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.sorting import float_order, stable_order, stable_order_of_keys
from gpugda.expressions.computed_columns import column_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["percentiles_of"]

_FEW_GROUPS: Final = 1 << 10
"""Up to this many groups are selected one by one, which avoids sorting them."""


def percentiles_of(
    column: Column, group_of: NDArray[np.int64], groups: int, share: Any, continuous: bool
) -> Column | None:
    """`percentileCont` or `percentileDisc`; None if they must be computed value by value.

    Args:
        column: Numbers without nulls.
        group_of: Group number of each row.
        groups: Number of groups.
        share: The percentile as given; an invalid one is refused by the value-by-value code.
        continuous: True to interpolate between two values.
    """
    numeric = column.kind in (ColumnKind.INTEGER, ColumnKind.FLOAT) and len(column) > 0
    if not numeric or type(share) not in (int, float) or not 0 <= share <= 1:
        return None
    counts = np.bincount(group_of, minlength=groups)
    if not continuous:
        places = share * counts
        whole = places.astype(np.int64)
        ranks = np.where((whole > 0) & (places == whole), whole - 1, whole)
        (found,) = _of_ranks(column, group_of, counts, [ranks])
        return Column(column.kind, found, _there(counts))
    places = share * np.maximum(counts - 1, 0)
    lower, upper = places.astype(np.int64), np.ceil(places).astype(np.int64)
    low, high = _of_ranks(column, group_of, counts, [lower, upper])
    with np.errstate(all="ignore"):
        between = low * (upper - places) + high * (places - lower)
    return _either(low, between, lower == upper, counts)


def _there(counts: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    there: NDArray[np.bool_] = counts > 0
    return None if there.all() else there


def _either(
    low: NDArray[Any],
    between: NDArray[np.float64],
    exact: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> Column:
    """Column of exact values where ``exact`` is set, interpolated ones elsewhere."""
    there = _there(counts)
    if low.dtype.kind == "f":
        return Column(ColumnKind.FLOAT, np.where(exact, low, between), there)
    known = counts > 0
    if exact[known].all():
        return Column(ColumnKind.INTEGER, low, there)
    if not exact[known].any():
        return Column(ColumnKind.FLOAT, between, there)
    chosen = zip(low.tolist(), between.tolist(), exact.tolist(), known.tolist(), strict=True)
    return column_of([(a if is_exact else b) if some else None for a, b, is_exact, some in chosen])


# ------------------------------------------------------------------ values by their rank
def _of_ranks(
    column: Column,
    group_of: NDArray[np.int64],
    counts: NDArray[np.int64],
    ranks: list[NDArray[np.int64]],
) -> list[NDArray[Any]]:
    """Values of these ranks in their groups; undefined for groups without rows."""
    values = column.values
    codes = values
    if values.dtype.kind == "f" and (values == 0).any():
        codes = float_order(values)  # orders the two zeros
    if len(counts) <= _FEW_GROUPS:
        found = _searched(codes, group_of, counts, ranks)
    else:
        order = stable_order_of_keys([group_of, _integers(codes)])
        places = np.cumsum(counts) - counts
        found = [codes[order[np.minimum(places + rank, len(order) - 1)]] for rank in ranks]
    return found if codes.dtype == values.dtype else [_floats_of(each) for each in found]


def _integers(codes: NDArray[Any]) -> NDArray[np.int64]:
    return float_order(codes) if codes.dtype.kind == "f" else codes


def _searched(
    codes: NDArray[Any],
    group_of: NDArray[np.int64],
    counts: NDArray[np.int64],
    ranks: list[NDArray[np.int64]],
) -> list[NDArray[Any]]:
    groups = len(counts)
    grouped = codes if groups == 1 else codes[stable_order(group_of)]
    found = np.zeros((len(ranks), groups), dtype=codes.dtype)
    ends = np.cumsum(counts)
    for group in np.flatnonzero(counts).tolist():
        part = grouped[ends[group] - counts[group] : ends[group]]
        found[:, group] = _at_ranks(part, [int(rank[group]) for rank in ranks])
    return list(found)


def _at_ranks(values: NDArray[Any], ranks: list[int]) -> NDArray[Any]:
    """The values at these adjacent ascending ranks in sorted order."""
    ordered = np.partition(values, ranks[0])
    found = ordered[ranks]
    if ranks[-1] > ranks[0]:
        # NaN comes last in the order, but `min` would return it.
        found[-1] = np.fmin.reduce(ordered[ranks[0] + 1 :])
    return found


def _floats_of(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Inverts `float_order`."""
    bits = np.where(codes < 0, codes ^ np.int64(2**63 - 1), codes)
    floats: NDArray[np.float64] = bits.view(np.float64)
    return floats

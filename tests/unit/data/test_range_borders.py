"""Ranges of nodes determined from a sample of the entries."""

from __future__ import annotations

import numpy as np

from gpugda.data.sorting import _SAMPLES, range_borders


def test_entries_after_the_last_sample_have_a_range():
    """The last node has one entry, which is not in the sample."""
    rows = np.repeat(np.arange(1000, dtype=np.uint32), 4 * _SAMPLES // 1000 + 1)
    rows[-2], rows[-1] = 5000, 3
    found = range_borders(rows, 70_000, 7)
    ranges = found.of_bins[rows >> np.uint32(found.shift)]
    assert ranges.max() < 7
    assert (rows >= found.nodes[ranges]).all()
    assert (rows < found.nodes[ranges + 1]).all()

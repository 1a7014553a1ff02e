"""R-MAT draws in pieces equal those of a loop over whole arrays."""

import numpy as np
import pytest
from benchmarks import rmat_draws


@pytest.mark.parametrize("drawn", [1, 63, 64, 1000])
def test_pieces_continue_one_sequence_of_draws(monkeypatch, drawn):
    monkeypatch.setattr(rmat_draws, "_PIECE", 64)
    random, a, b, c = np.random.default_rng(1), 0.57, 0.76, 0.95
    source, target = np.zeros(drawn, np.int64), np.zeros(drawn, np.int64)
    for _ in range(9):
        quadrant = random.random(drawn)
        source = 2 * source + (quadrant >= b)
        target = 2 * target + (((quadrant >= a) & (quadrant < b)) | (quadrant >= c))
    found = rmat_draws.rmat_draws(drawn, 9, (a, b, c))
    assert np.array_equal(found[0], source)
    assert np.array_equal(found[1], target)

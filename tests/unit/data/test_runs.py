import numpy as np
import pytest

from gpugda.data.runs import places_in_runs


@pytest.mark.parametrize(
    "lengths", [[], [0], [0, 0], [3], [2, 0, 3, 1, 0], [0, 5]], ids=lambda lengths: str(lengths)
)
@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.int32])
def test_each_run_counts_from_zero(lengths, kind):
    places = places_in_runs(np.array(lengths, dtype=kind))
    assert places.dtype == np.int64
    assert places.tolist() == [place for length in lengths for place in range(length)]

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.integer_sets import unique_values


@pytest.mark.parametrize("kind", [np.uint16, np.int32, np.uint32, np.int64])
@given(values=st.lists(st.integers(0, 30)))
def test_they_are_those_of_numpy(kind, values):
    given_values = np.array(values, dtype=kind)
    found = unique_values(given_values)
    assert found.dtype == kind
    assert found.tolist() == sorted(set(values))
    assert given_values.tolist() == values  # unchanged

"""The order of rows by integers, against a stable sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.execute import sorting as module
from gpugda.execute.sorting import stable_order, stable_order_of_keys

KEYS = st.one_of(
    st.lists(st.integers(-3, 3)),
    st.lists(st.integers(-(2**40), 2**40)),
    st.lists(st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.sampled_from([-(2**63), 2**63 - 1, 0, 1, 2**62, 2**62 + 1])),
)


@given(KEYS, st.sampled_from([16, 40, 64]), st.booleans())
def test_rows_with_equal_keys_stay_in_their_order(keys, bits, short):
    key = np.array(keys, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", 0)
        patch.setattr(module, "_BITS", bits)  # so that keys do not fit before the row numbers
        patch.setattr(module, "_SHORT", 1 << 16 if short else 0)
        found = stable_order(key) if len(key) else np.zeros(0, np.int64)
    assert found.tolist() == sorted(range(len(keys)), key=keys.__getitem__)


def test_many_rows_with_keys_of_all_sizes():
    random = np.random.default_rng(1)
    for low, high in ((0, 5), (-(2**31), 2**31), (-(2**63), 2**63 - 1)):
        key = random.integers(low, high, 5000)
        key[::3] = key[0]
        assert np.array_equal(stable_order(key), np.argsort(key, kind="stable"))
    keys = [random.integers(0, 4, 5000), random.integers(0, 9, 5000)]
    assert np.array_equal(stable_order_of_keys(keys), np.lexsort(keys[::-1]))

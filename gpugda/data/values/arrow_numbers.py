"""Zero-copy conversion of numbers between Arrow and numpy, and of Python texts to Arrow.

pyarrow's own ``to_numpy`` and ``pa.array`` import pandas where it is installed. That import takes
190 ms, while a small saved snapshot opens in 1 ms. The functions here do not import it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["arrow_numbers", "arrow_texts", "numpy_numbers", "valid_entries"]


def numpy_numbers(array: pa.Array) -> NDArray[Any]:
    """The integers or floats of an Arrow array as a read-only view; booleans as a copy.

    Nulls become 0, which needs a copy.
    """
    if pa.types.is_boolean(array.type):
        return numpy_numbers(array.cast(pa.uint8())).view(np.bool_)
    dtype = np.dtype(array.type.to_pandas_dtype())
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), dtype=dtype)
    start = array.offset * dtype.itemsize
    values: NDArray[Any] = np.frombuffer(buffer, dtype, count=len(array), offset=start)
    if array.null_count:  # the memory of a null may hold any value
        values = np.where(valid_entries(array), values, dtype.type(0))
    return values


def valid_entries(array: pa.Array) -> NDArray[np.bool_]:
    """``bool`` per entry: True if it is not null."""
    return numpy_numbers(array.is_valid())


def arrow_numbers(array: NDArray[Any]) -> pa.Array:
    """An Arrow array that shares the memory of a numpy array of integers or floats."""
    array = np.ascontiguousarray(array)
    kind = pa.from_numpy_dtype(array.dtype)
    return pa.Array.from_buffers(kind, len(array), [None, pa.py_buffer(array)])


def arrow_texts(texts: Sequence[str | None]) -> pa.Array:
    """A ``large_string`` array of Python texts; None becomes null.

    Raises:
        UnicodeEncodeError: A text has an unpaired surrogate.
    """
    kind = pa.large_string()
    if "pandas" in sys.modules:  # pandas is imported already, so Arrow's own function is fastest
        return pa.array(texts, kind)
    valid = np.fromiter((text is not None for text in texts), np.bool_, len(texts))
    encoded = [b"" if text is None else text.encode() for text in texts]
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(texts)), out=offsets[1:])
    bits = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bits, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(kind, len(texts), buffers)

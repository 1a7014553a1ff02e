"""Named arrays of any lengths in one Arrow IPC file, read without copying.

The columns of a record batch have equal lengths, so each array is the only entry of a list column.
"""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.values.arrow_numbers import arrow_numbers, numpy_numbers
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["COMPRESSIONS", "array_of", "checksums", "map_file", "read_arrays", "write_arrays"]

COMPRESSIONS = (None, "lz4", "zstd")

_KINDS = (
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.int32(), pa.int64(), pa.float64()),
    *(pa.string(), pa.large_string()),
)

# CRC-32 is the fastest checksum of Python's library (1.8 GB/s per core, SHA-1 1.1, BLAKE2b 0.6),
# and it only has to detect damage. It releases the interpreter lock, so pieces use all cores.
_CHECKSUM_PIECE = 1 << 25


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any] | pa.Array], compression: str | None
) -> None:
    """Writes a new file.

    Raises:
        ConfigurationError: The compression is unknown.
        OSError: The file cannot be written.
    """
    if compression not in COMPRESSIONS:
        raise ConfigurationError(f"no compression {compression!r}: there are None, 'lz4', 'zstd'")
    columns = [_one_entry(_arrow(array)) for array in arrays.values()]
    batch = pa.RecordBatch.from_arrays(columns, names=list(arrays))
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, batch.schema, options=options) as file,
    ):
        file.write_batch(batch)


def map_file(path: Path) -> pa.Buffer:
    """The bytes of a file, memory-mapped; they stay readable when the file is renamed or removed.

    Raises:
        OSError: The file cannot be opened.
    """
    if path.exists() and not path.is_file():
        raise OSError(f"{path.name} is not a regular file")
    if path.stat().st_size == 0:  # an empty file cannot be mapped
        return pa.py_buffer(b"")
    with pa.memory_map(str(path)) as source:
        return source.read_buffer()


def checksums(data: pa.Buffer) -> list[int]:
    """CRC-32 of each 32 MiB piece."""
    view = memoryview(data)
    pieces = [view[low : low + _CHECKSUM_PIECE] for low in range(0, len(view), _CHECKSUM_PIECE)]
    if len(pieces) < 2:
        return [zlib.crc32(piece) for piece in pieces]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(zlib.crc32, pieces))


def read_arrays(data: pa.Buffer, *, check: bool = True) -> dict[str, pa.Array]:
    """The arrays of a file; they share its memory unless it is compressed.

    Args:
        data: The file's bytes.
        check: True to validate all that Arrow assumes: kinds, offsets, texts, and no nulls.

    Raises:
        pyarrow.ArrowException: The bytes are not an Arrow file.
        ValueError: The file does not have the form that `write_arrays` writes.
    """
    with pa.ipc.open_file(pa.BufferReader(data)) as file:
        if check:
            _check_schema(file)
        batch = file.get_batch(0)
    if check:
        batch.validate(full=True)
    arrays = {name: batch.column(place).values for place, name in enumerate(batch.schema.names)}
    if check:
        _check_entries(batch, arrays)
    return arrays


def _check_schema(file: pa.RecordBatchFileReader) -> None:
    """Runs before any array is read: reading other kinds may cost more than the file's size."""
    names = file.schema.names
    if file.num_record_batches != 1 or len(set(names)) != len(names):
        raise ValueError("a file does not hold exactly one array of each name")
    for field in file.schema:
        kind = field.type
        if not pa.types.is_large_list(kind) or kind.value_type not in _KINDS:
            raise ValueError(f"the array {field.name!r} is of kind {kind}")


def _check_entries(batch: pa.RecordBatch, arrays: Mapping[str, pa.Array]) -> None:
    if arrays and batch.num_rows != 1:
        raise ValueError("a file holds several arrays under one name")
    for name, array in arrays.items():
        ends = batch.column(name).offsets.to_pylist()
        if batch.column(name).null_count or array.null_count or ends != [0, len(array)]:
            raise ValueError(f"the array {name!r} has nulls, or offsets that do not match it")


def array_of(array: pa.Array, dtype: type[np.generic] | np.dtype[Any]) -> NDArray[Any]:
    """A read-only numpy array that shares an Arrow array's memory.

    Raises:
        ValueError: The array does not hold ``dtype``.
    """
    values = numpy_numbers(array)
    if dtype is np.bool_ and values.dtype == np.uint8:
        return values.view(np.bool_)  # Arrow's booleans are bits, which numpy cannot share
    if values.dtype != dtype:
        raise ValueError(f"an array of {values.dtype}, not of {np.dtype(dtype)}")
    return values


def _arrow(array: NDArray[Any] | pa.Array) -> pa.Array:
    if isinstance(array, np.ndarray) and array.dtype == np.bool_:
        array = array.view(np.uint8)
    return array if isinstance(array, pa.Array) else arrow_numbers(array)


def _one_entry(array: pa.Array) -> pa.Array:
    offsets = arrow_numbers(np.array([0, len(array)], dtype=np.int64))
    return pa.LargeListArray.from_arrays(offsets, array)

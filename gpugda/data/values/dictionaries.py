"""Dictionary encoding of STRING and OBJECT columns: distinct values, and encoding to codes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.arrow_numbers import arrow_numbers, numpy_numbers
from gpugda.data.values.driver_values import as_driver_gives
from gpugda.data.values.temporal import identity_of_temporal
from gpugda.text_order import StoredText, as_stored, may_differ
from gpugda.values import ByteArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "ObjectDictionary",
    "StringDictionary",
    "encode_objects",
    "encode_strings",
    "identity_of",
    "merge_objects",
    "merge_strings",
]


def identity_of(value: Any) -> Any:
    """A hashable key, equal only for values that no Cypher expression can distinguish."""
    kind = type(value)
    if kind is float:
        return (float, value.hex() if value == value else struct.pack("<d", value))
    if kind is list:
        return (list, *map(identity_of, value))
    if kind in (bool, int, str) or value is None:
        return (kind, value)
    if kind is StoredText:
        return (str, value)
    if kind is ByteArray:
        return (ByteArray, value.data)
    return identity_of_temporal(value)


_MAX_DECODED_BYTES = 1 << 24
"""Largest dictionary whose texts are cached as Python strings, which need several times as much."""
_FEW = 32
"""So many texts are encoded and decoded one by one in less time than as arrays."""
_SEARCH_ENTRIES = 200
"""One bisection takes as long as hashing this many entries."""
_LEAD_FROM_E000 = 0xEE  # first byte of U+E000 in UTF-8; later code points start with it or more

_LARGEST_STRING_ARRAY = 2**31 - 1  # bytes: the offsets of Arrow's `string` have 32 bits


class StringDictionary:
    """Distinct texts, sorted by code point, so that codes compare like their texts.

    Args:
        array: Arrow ``string`` or ``large_string``, sorted by UTF-8 bytes (which is the order of
            code points), without duplicates or nulls. May lie in a memory-mapped file.

    Attributes:
        stored: True if the texts are known to be property values, which Neo4j, too, sorts by code
            point.
    """

    __slots__ = ("_apart", "_asked", "_texts", "array", "stored")

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        self.stored = False
        self._apart: list[str] | None = None
        self._asked = 0
        self._texts: NDArray[Any] | None = None  # all texts, decoded

    def __len__(self) -> int:
        return len(self.array)

    def value(self, code: int) -> str:
        """The text of a code."""
        text: str = self.array[int(code)].as_py()
        return text

    def values(self, codes: NDArray[np.int32]) -> list[str]:
        """The texts of many codes; each distinct code is decoded once."""
        if self._texts is not None:
            known: list[str] = self._texts[codes].tolist()
            return known
        self._decode_if_worth_it(len(codes))
        if len(codes) <= _FEW:
            return [self.value(code) for code in codes]
        distinct, positions = np.unique(codes, return_inverse=True)
        texts = np.empty(len(distinct), dtype=object)
        texts[:] = self.array.take(arrow_numbers(distinct)).to_pylist()
        result: list[str] = texts[positions.reshape(-1)].tolist()
        return result

    def _decode_if_worth_it(self, asked: int) -> None:
        """Decodes all texts once as many were requested, unless the dictionary is too large."""
        self._asked += asked
        if self._asked > len(self) and self.nbytes <= _MAX_DECODED_BYTES:
            texts = np.empty(len(self), dtype=object)
            texts[:] = self.array.to_pylist()
            self._texts = texts

    def shown(self, codes: NDArray[np.int32]) -> list[str]:
        """The same as `values`."""
        return self.values(codes)

    def with_two_orders(self) -> list[str]:
        """The texts with characters from U+E000 on, for which Neo4j has two sort orders."""
        if self._apart is None:
            chunk = (self.array.buffers()[2] if len(self) else None) or b""
            some = np.frombuffer(chunk, np.uint8).max(initial=0) >= _LEAD_FROM_E000
            self._apart = list(filter(may_differ, self.array.to_pylist())) if some else []
        return self._apart

    def lower_bound(self, text: str) -> int:
        """Number of entries < ``text``: its code, or the code at which it would be inserted."""
        return self._first(lambda entry: entry >= text)

    def lower_bounds(self, texts: pa.Array) -> NDArray[np.int64]:
        """`lower_bound` for many texts of the array's type: one vectorised binary search."""
        low = np.zeros(len(texts), dtype=np.int64)
        high = np.full(len(texts), len(self), dtype=np.int64)
        while (unsure := low < high).any():
            middle = (low + high) // 2
            looked_at = arrow_numbers(np.minimum(middle, len(self) - 1))
            below = numpy_numbers(pc.less(self.array.take(looked_at), texts))
            low = np.where(unsure & below, middle + 1, low)
            high = np.where(unsure & ~below, middle, high)
        return low

    def find(self, text: str) -> int:
        """Code of a text, -1 if it is absent."""
        code = self.lower_bound(text)
        return code if code < len(self) and self.value(code) == text else -1

    def find_all(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The code of each text, as by `find`."""
        if len(texts) * _SEARCH_ENTRIES < len(self):
            return np.array([self.find(text) for text in texts], dtype=np.int64)
        whole = [text if _is_whole(text) else None for text in texts]
        codes = pc.index_in(pa.array(whole, self.array.type), value_set=self.array)
        return numpy_numbers(codes.fill_null(-1)).astype(np.int64)

    def bounds(self, prefix: str) -> tuple[int, int]:
        """The codes ``low … high-1`` of the texts that start with ``prefix``, as (low, high)."""
        length = len(prefix)
        return self.lower_bound(prefix), self._first(lambda entry: entry[:length] > prefix)

    def matching_suffix(self, text: str) -> NDArray[np.bool_]:
        """``bool`` per code: True if its text ends with ``text``."""
        return self._matching(pc.ends_with, text)

    def matching_substring(self, text: str) -> NDArray[np.bool_]:
        """``bool`` per code: True if its text contains ``text``, taken literally."""
        return self._matching(pc.match_substring, text)

    @property
    def nbytes(self) -> int:
        """Size of the texts and their offsets in bytes."""
        return int(self.array.nbytes)

    def _first(self, holds: Callable[[str], bool]) -> int:
        # Binary search for the first entry that satisfies the monotonic predicate `holds`.
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if holds(self.value(middle)):
                high = middle
            else:
                low = middle + 1
        return low

    def _matching(self, match: Callable[..., pa.Array], text: str) -> NDArray[np.bool_]:
        if not _is_whole(text):
            return np.zeros(len(self), dtype=np.bool_)
        return numpy_numbers(match(self.array, pattern=text))


def _is_whole(text: str) -> bool:
    """True if the text can be encoded as UTF-8, that is, has no unpaired surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class ObjectDictionary:
    """Distinct values of any property type: 1, 1.0 and true are three entries, NaN is one.

    ``entries`` are in no particular order. ``kept`` caches what a reader derived from all entries.
    """

    __slots__ = ("_known", "_shown", "_stored", "entries", "kept")

    def __init__(self, entries: Sequence[Any]) -> None:
        self.kept: Any = None
        self._shown: dict[int, Any] = {}
        self._known: dict[Any, int] | None = None
        self._stored = False
        self.entries = np.empty(len(entries), dtype=object)
        for code, entry in enumerate(
            entries
        ):  # one by one: numpy would turn a list of lists into a matrix
            self.entries[code] = entry

    def __len__(self) -> int:
        return len(self.entries)

    def mark_stored(self) -> None:
        """Marks the texts among the values as property values."""
        if not self._stored:
            self._stored = True
            for code, entry in enumerate(self.entries):
                self.entries[code] = as_stored(entry)

    def value(self, code: int) -> Any:
        """The value of a code."""
        return self.entries[int(code)]

    def values(self, codes: NDArray[np.int32]) -> list[Any]:
        """The values of many codes; equal codes share one object."""
        found: list[Any] = self.entries[codes].tolist()
        return found

    def extended(self, values: Sequence[Any]) -> tuple[ObjectDictionary, NDArray[np.int32]]:
        """A dictionary with these values appended, and the code of each value in it.

        This dictionary does not change; it is returned itself if it has all values. The hash table
        moves to the new dictionary, so that a chain of extensions builds it once.
        """
        known, self._known = self._known, None
        if known is None:
            known = {identity_of(entry): code for code, entry in enumerate(self.entries)}
        codes = np.empty(len(values), dtype=np.int32)
        added: list[Any] = []
        for row, value in enumerate(values):
            codes[row] = code = known.setdefault(identity_of(value), len(known))
            if code == len(self.entries) + len(added):
                added.append(value)
        found = ObjectDictionary([*self.entries, *added]) if added else self
        found._known = known
        return found, codes

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """Like `values`, temporal values as the types of the driver, see `data.values.temporal`."""
        wanted = codes.tolist()
        for code in set(wanted).difference(self._shown):
            self._shown[code] = as_driver_gives(self.entries[code])
        return list(map(self._shown.__getitem__, wanted))


# ------------------------------------------------------------------ texts
def encode_strings(array: pa.Array) -> tuple[NDArray[np.int32], StringDictionary]:
    """Dictionary-encodes a ``string`` or ``large_string`` array; a null gets the code 0."""
    if len(array) <= _FEW:
        return _encoded_few(array)
    encoded = array.dictionary_encode()
    dictionary, new_codes = _sorted_dictionary(encoded.dictionary)
    codes = numpy_numbers(encoded.indices)
    if len(dictionary) == 0:
        return np.zeros(len(array), dtype=np.int32), dictionary
    return new_codes[codes], dictionary


def _encoded_few(array: pa.Array) -> tuple[NDArray[np.int32], StringDictionary]:
    texts = array.to_pylist()
    places = {text: place for place, text in enumerate(texts) if text is not None}
    distinct = sorted(places)
    codes = {text: code for code, text in enumerate(distinct)}
    found = np.array([codes.get(text, 0) for text in texts], dtype=np.int32)
    # Arrow loads pandas to make an array of a list.
    taken = arrow_numbers(np.array([places[text] for text in distinct], dtype=np.int32))
    return found, StringDictionary(array.take(taken))


def merge_strings(
    dictionaries: Sequence[StringDictionary],
) -> tuple[StringDictionary, list[NDArray[np.int32]]]:
    """One dictionary of all texts, and per old dictionary the map from old to new codes."""
    arrays = [dictionary.array for dictionary in dictionaries]
    narrow = sum(array.nbytes for array in arrays) <= _LARGEST_STRING_ARRAY
    common = pa.string() if narrow else pa.large_string()
    codes, merged = encode_strings(pa.concat_arrays([array.cast(common) for array in arrays]))
    merged.stored = all(dictionary.stored for dictionary in dictionaries)
    ends = np.cumsum([len(array) for array in arrays])
    return merged, np.split(codes, ends[:-1])


def _sorted_dictionary(distinct: pa.Array) -> tuple[StringDictionary, NDArray[np.int32]]:
    order = pc.sort_indices(distinct)
    new_codes = np.empty(len(distinct), dtype=np.int32)
    new_codes[numpy_numbers(order)] = np.arange(len(distinct), dtype=np.int32)
    return StringDictionary(distinct.take(order)), new_codes


# ------------------------------------------------------------------ other values
def encode_objects(values: Sequence[Any]) -> tuple[NDArray[np.int32], ObjectDictionary]:
    """Dictionary-encodes property values given as Python objects; None (null) gets the code 0."""
    known: dict[Any, int] = {}
    entries: list[Any] = []
    codes = np.zeros(len(values), dtype=np.int32)
    for row, value in enumerate(values):
        if value is None:
            continue
        code = known.setdefault(identity_of(value), len(entries))
        if code == len(entries):
            entries.append(value)
        codes[row] = code
    return codes, ObjectDictionary(entries)


def merge_objects(
    dictionaries: Sequence[ObjectDictionary],
) -> tuple[ObjectDictionary, list[NDArray[np.int32]]]:
    """One dictionary of all values, and per old dictionary the map from old to new codes."""
    entries = [entry for dictionary in dictionaries for entry in dictionary.entries]
    codes, merged = encode_objects(entries)
    ends = np.cumsum([len(dictionary) for dictionary in dictionaries])
    return merged, np.split(codes, ends[:-1])

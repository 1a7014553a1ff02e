"""The distinct values behind STRING and OBJECT columns, and the way from values to their codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpugda.data.arrow_numbers import arrow_numbers, numpy_numbers
from gpugda.data.identities import identity_of
from gpugda.data.temporal import as_driver_gives
from gpugda.text_order import as_stored, may_differ

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

_MOST_DECODED_BYTES = 1 << 24
"""Of a dictionary whose texts are kept as Python's own, which take several times as much."""

_SEARCH_ENTRIES = 200
"""Entries are hashed in the time in which one text is found by bisection."""

_LEAD_FROM_E000 = 0xEE  # the first byte of U+E000 in UTF-8, and the least of those after it

_LARGEST_STRING_ARRAY = 2**31 - 1  # bytes: Arrow's `string` counts them in 32 bits


class StringDictionary:
    """Distinct texts, sorted by code point, so that comparing codes compares texts.

    Args:
        array: Arrow ``string`` or ``large_string``, sorted by UTF-8 bytes (which is the order of
            code points), without repeats or nulls. May lie in a memory-mapped file.

    Attributes:
        stored: Are these known to be texts of properties? Neo4j, too, sorts them by code point.
    """

    __slots__ = ("_apart", "_asked", "_texts", "array", "stored")

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        self.stored = False
        self._apart: list[str] | None = None
        self._asked = 0
        self._texts: NDArray[Any] | None = None  # all, decoded

    def __len__(self) -> int:
        return len(self.array)

    def value(self, code: int) -> str:
        """The text of a code."""
        text: str = self.array[int(code)].as_py()
        return text

    def values(self, codes: NDArray[np.int32]) -> list[str]:
        """The texts of many codes; each distinct one is decoded once."""
        if self._texts is not None:
            known: list[str] = self._texts[codes].tolist()
            return known
        self._decode_if_worth_it(len(codes))
        distinct, positions = np.unique(codes, return_inverse=True)
        texts = np.empty(len(distinct), dtype=object)
        texts[:] = self.array.take(arrow_numbers(distinct)).to_pylist()
        result: list[str] = texts[positions.reshape(-1)].tolist()
        return result

    def _decode_if_worth_it(self, asked: int) -> None:
        """Decodes all texts once as many were asked for, if they are not too long to keep."""
        self._asked += asked
        if self._asked > len(self) and self.nbytes <= _MOST_DECODED_BYTES:
            texts = np.empty(len(self), dtype=object)
            texts[:] = self.array.to_pylist()
            self._texts = texts

    def shown(self, codes: NDArray[np.int32]) -> list[str]:
        """As `values`."""
        return self.values(codes)

    def with_two_orders(self) -> list[str]:
        """The texts with characters from U+E000 on, which Neo4j may sort in two ways."""
        if self._apart is None:
            chunk = (self.array.buffers()[2] if len(self) else None) or b""
            some = np.frombuffer(chunk, np.uint8).max(initial=0) >= _LEAD_FROM_E000
            self._apart = list(filter(may_differ, self.array.to_pylist())) if some else []
        return self._apart

    def less_than(self, text: str) -> int:
        """Number of entries < ``text``, which is also the code that ``text`` has or would get."""
        return self._first(lambda entry: entry >= text)

    def first_not_below(self, texts: pa.Array) -> NDArray[np.int64]:
        """As `less_than`, of many texts of the array's type: all are compared in each step."""
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
        """Code of a text, -1 if it is not here."""
        code = self.less_than(text)
        return code if code < len(self) and self.value(code) == text else -1

    def find_all(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The codes of several texts, each as by `find`."""
        if len(texts) * _SEARCH_ENTRIES < len(self):
            return np.array([self.find(text) for text in texts], dtype=np.int64)
        whole = [text if _is_whole(text) else None for text in texts]
        codes = pc.index_in(pa.array(whole, self.array.type), value_set=self.array)
        return numpy_numbers(codes.fill_null(-1)).astype(np.int64)

    def bounds(self, prefix: str) -> tuple[int, int]:
        """The codes ``low … high-1`` are those of the texts that start with ``prefix``."""
        length = len(prefix)
        return self.less_than(prefix), self._first(lambda entry: entry[:length] > prefix)

    def matching_suffix(self, text: str) -> NDArray[np.bool_]:
        """Per code: does its text end with ``text``?"""
        return self._matching(pc.ends_with, text)

    def matching_substring(self, text: str) -> NDArray[np.bool_]:
        """Per code: does its text contain ``text``, taken literally?"""
        return self._matching(pc.match_substring, text)

    @property
    def nbytes(self) -> int:
        """Bytes of the texts and their offsets."""
        return int(self.array.nbytes)

    def _first(self, holds: Callable[[str], bool]) -> int:
        # Binary search for the first entry for which `holds`; it holds for all after that one.
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
    """Can it be UTF-8? Half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class ObjectDictionary:
    """Distinct values of any property type: 1, 1.0 and true are three entries, NaN is one.

    ``entries`` come in any order. ``kept`` is what a reader made of all of them, for the next time.
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
        ):  # at once, numpy would take lists for rows of a matrix
            self.entries[code] = entry

    def __len__(self) -> int:
        return len(self.entries)

    def mark_stored(self) -> None:
        """These are known to be properties: their texts say so from now on."""
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
        """A dictionary with these values behind its own, and the code of each in it.

        This one stays as it is, and is what comes back where it has all of them. Codes by value go
        from one dictionary to the next, so that a chain of them finds them once.
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
        """As `values`, with times as the driver gives them; see `gpugda.data.temporal`."""
        wanted = codes.tolist()
        for code in set(wanted).difference(self._shown):
            self._shown[code] = as_driver_gives(self.entries[code])
        return list(map(self._shown.__getitem__, wanted))


# ------------------------------------------------------------------ texts
def encode_strings(array: pa.Array) -> tuple[NDArray[np.int32], StringDictionary]:
    """Codes of the texts of a ``string`` or ``large_string`` array; a null has the code 0."""
    encoded = array.dictionary_encode()
    dictionary, new_codes = _sorted_dictionary(encoded.dictionary)
    codes = numpy_numbers(encoded.indices)
    if len(dictionary) == 0:
        return np.zeros(len(array), dtype=np.int32), dictionary
    return new_codes[codes], dictionary


def merge_strings(
    dictionaries: Sequence[StringDictionary],
) -> tuple[StringDictionary, list[NDArray[np.int32]]]:
    """One dictionary of all texts, and per old dictionary the new code of each old code."""
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
    """Codes of property values as Python objects; None (null) has the code 0."""
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
    """One dictionary of all values, and per old dictionary the new code of each old code."""
    entries = [entry for dictionary in dictionaries for entry in dictionary.entries]
    codes, merged = encode_objects(entries)
    ends = np.cumsum([len(dictionary) for dictionary in dictionaries])
    return merged, np.split(codes, ends[:-1])

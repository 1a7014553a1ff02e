"""Encodes label texts and lists as codes into distinct label sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.values.arrow_numbers import numpy_numbers, valid_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = [
    "LabelSet",
    "constant_labels",
    "distinct_labels",
    "encode_label_sets",
    "encode_label_texts",
    "split_labels",
]

LabelSet = tuple[str, ...]


def split_labels(text: str) -> LabelSet:
    """The distinct labels of ``Person``, ``Person:Actor`` or ``:Person:Actor``."""
    return distinct_labels(text.split(":"))


def distinct_labels(labels: Iterable[str]) -> LabelSet:
    """The labels in the order given, without duplicates and empty names."""
    return tuple(dict.fromkeys(label for label in labels if label))


def constant_labels(count: int, labels: LabelSet) -> tuple[NDArray[np.int32], tuple[LabelSet, ...]]:
    """Codes and label sets of nodes that all have the same labels."""
    return np.zeros(count, dtype=np.int32), (labels,)


def encode_label_sets(
    label_sets: Sequence[LabelSet],
) -> tuple[NDArray[np.int32], tuple[LabelSet, ...]]:
    """Code per entry, and the distinct label sets behind the codes."""
    known: dict[LabelSet, int] = {}
    codes = np.fromiter(
        (known.setdefault(labels, len(known)) for labels in label_sets), np.int32, len(label_sets)
    )
    return codes, tuple(known) or ((),)


def encode_label_texts(
    texts: pa.Array, parse: Callable[[str], LabelSet]
) -> tuple[NDArray[np.int32], tuple[LabelSet, ...]]:
    """`encode_label_sets` for a text column; parses distinct texts once, null has no labels."""
    encoded = texts.dictionary_encode()
    parsed = [parse(text) for text in encoded.dictionary.to_pylist()]
    of_text, label_sets = encode_label_sets([*parsed, parse("")])
    indices = encoded.indices
    positions = np.where(valid_entries(indices), numpy_numbers(indices), len(parsed))
    return of_text[positions], label_sets

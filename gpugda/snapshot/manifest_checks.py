"""Validates the contents of a manifest before anything is read from its files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gpugda.data.build import MAX_COUNT
from gpugda.data.identifiers import MAX_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["check_content"]

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_KINDS = ("boolean", "integer", "float", "string", "object")
_FILES = ("arrays", "node_properties", "relationship_properties")


def check_content(content: Mapping[str, Any]) -> None:
    """Checks the types and ranges of all fields present; others report missing fields.

    Raises:
        ValueError: A field is invalid.
    """
    for name, holds in _RULES.items():
        if name in content and not holds(content[name]):
            raise ValueError(f"{name} has the wrong type or range")


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # an unpaired surrogate
        return False
    return True


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_COUNT


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_names(value: Any) -> bool:
    return _are_texts(value) and len(set(value)) == len(value) <= MAX_NAMES


def _or_none(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or holds(value)


def _is_record(value: Any, **rules: Callable[[Any], bool]) -> bool:
    """True for a mapping of exactly these names to valid values."""
    return (
        isinstance(value, dict)
        and value.keys() == rules.keys()
        and all(holds(value[name]) for name, holds in rules.items())
    )


def _are_properties(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    well_formed = all(_is_record(each, key=_is_text, kind=_KINDS.__contains__) for each in value)
    return well_formed and len({each["key"] for each in value}) == len(value)


def _are_files(value: Any) -> bool:
    return _is_record(value, **dict.fromkeys(_FILES, _is_file))


def _is_file(value: Any) -> bool:
    # A plain name, not a path, so that no snapshot refers to other folders.
    return _is_record(
        value,
        name=lambda name: isinstance(name, str) and bool(_PLAIN_NAME.fullmatch(name)),
        size_bytes=_is_number,
        checksums=lambda sums: isinstance(sums, list) and all(map(_is_number, sums)),
    )


def _is_state(value: Any) -> bool:
    return _is_record(value, database_id=_is_text, transaction=_is_number, bookmark=_is_text)


def _is_part(value: Any) -> bool:
    return _is_record(value, labels=_or_none(_are_names), types=_or_none(_are_names))


_RULES: Mapping[str, Callable[[Any], bool]] = {
    "created": _is_text,
    "source_name": _is_text,
    "node_count": _is_count,
    "relationship_count": _is_count,
    "labels": _are_names,
    "types": _are_names,
    "element_id_prefix": _is_text,
    "has_incoming": lambda value: isinstance(value, bool),
    "node_properties": _are_properties,
    "relationship_properties": _are_properties,
    "statistics": lambda value: isinstance(value, dict),
    "files": _are_files,
    "external_ids": _or_none(lambda value: _are_texts(value) and len(value) == 2),
    "nodes_read": _or_none(_are_texts),
    "relationships_read": _or_none(_are_texts),
    "state": _or_none(_is_state),
    "part": _or_none(_is_part),
}

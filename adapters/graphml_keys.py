"""Property keys of GraphML: declared types, and conversion of texts to them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .text_values import float_from_text, integer_from_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TYPES", "DeclaredKey", "convert_value"]


@dataclass(slots=True)
class DeclaredKey:
    """A ``<key>`` element.

    Args:
        name: Property key.
        domain: Elements that it applies to: ``node``, ``edge``, ``all``, ….
        value_type: One of ``TYPES``.
        list_type: Element type of lists, else empty.
        default: Text for elements without data of this key, or None.
    """

    name: str
    domain: str
    value_type: str = "string"
    list_type: str = ""
    default: str | None = None

    def is_for(self, domain: str) -> bool:
        """True if it applies to nodes (``node``) or relationships (``edge``)."""
        return self.domain in {domain, "all"}


def convert_value(text: str, key: DeclaredKey) -> Any:
    """The value of a data element.

    Raises:
        ValueError: The text is not a value of the key's type.
    """
    if not key.list_type:
        return TYPES[key.value_type](text)
    try:
        elements = json.loads(text)
    except ValueError:
        raise ValueError(f"{text[:80]!r} is no list in JSON") from None
    if not isinstance(elements, list):
        raise ValueError(f"{text[:80]!r} is no list in JSON")
    convert = TYPES[key.list_type]
    return [convert(_element_text(element)) for element in elements]


def _element_text(element: object) -> str:
    if isinstance(element, str):
        return element
    if element is None or isinstance(element, (list, dict)):
        raise ValueError(f"a list property cannot hold {json.dumps(element)}")
    return json.dumps(element)


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in {"true", "false", "1", "0"}:
        raise ValueError(f"{text[:80]!r} is no boolean")
    return word in {"true", "1"}


def _number(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            return parse(text.strip())
        except ValueError as error:
            raise ValueError(f"{text[:80]!r} is {error}") from None

    return convert


def _float(text: str) -> float:
    # XML Schema writes INF, Python inf, Java Infinity.
    is_word = text.lstrip("+-").lower() in {"inf", "infinity", "nan"}
    return float(text) if is_word else float_from_text(text)


TYPES: dict[str, Callable[[str], Any]] = {
    "boolean": _boolean,
    "int": _number(integer_from_text),
    "long": _number(integer_from_text),
    "float": _number(_float),
    "double": _number(_float),
    "string": str,
}
"""Conversion per GraphML type. All integers have 64 bits, all floats double precision."""

"""Headers of import files: ``id:ID(Space)``, ``:LABEL``, ``age:int``, ``tags:string[]``, …."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpugda.errors import SourceError
from gpugda.expressions.temporal.parsing import KINDS

from .point_text import parse_options

if TYPE_CHECKING:
    from .csv_records import CsvFormat

__all__ = ["HeaderField", "ImportHeader", "parse_header"]

PROPERTY_TYPES = frozenset(
    [
        *KINDS,
        "duration",
        *("boolean", "byte", "char", "double", "float", "int", "long", "point", "short", "string"),
    ]
)
_ROLES = frozenset(["ID", "LABEL", "START_ID", "END_ID", "TYPE", "IGNORE"])
_FIELD = re.compile(
    r"(?P<name>.*?):(?P<type>[^:(){}]*?)(?P<space>\([^()]*\))?(?P<options>\{.*\})?", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class HeaderField:
    """One column.

    Args:
        role: ``ID LABEL START_ID END_ID TYPE IGNORE`` or ``PROPERTY``.
        name: Property key; may be empty except for properties.
        value_type: For properties, one of Neo4j's type names in lower case.
        is_array: True if its values are lists.
        space: Id space, for the three kinds of ids.
        options: Options in braces, keys in lower case.
    """

    role: str
    name: str = ""
    value_type: str = "string"
    is_array: bool = False
    space: str = ""
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportHeader:
    """The columns of a file, in order."""

    fields: tuple[HeaderField, ...]

    def positions(self, role: str) -> list[int]:
        """Positions of the columns with this role."""
        return [place for place, column in enumerate(self.fields) if column.role == role]

    @property
    def is_node(self) -> bool:
        """True if there is an ``:ID``."""
        return bool(self.positions("ID"))

    @property
    def is_relationship(self) -> bool:
        """True if there is a ``:START_ID`` or an ``:END_ID``."""
        return bool(self.positions("START_ID") or self.positions("END_ID"))


def parse_header(record: bytes, layout: CsvFormat, origin: str) -> ImportHeader:
    """The header in the first record of a file.

    Raises:
        SourceError: A column has an unknown type, a name occurs twice, ….
    """
    try:
        text = record.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{origin}: the header is not UTF-8 (byte {error.start + 1}); save the file as UTF-8"
        ) from None
    cells = next(
        csv.reader(
            io.StringIO(text, newline=""),
            delimiter=layout.delimiter,
            quotechar=layout.quote or None,
            quoting=csv.QUOTE_MINIMAL if layout.quote else csv.QUOTE_NONE,
        )
    )
    header = ImportHeader(tuple(_parse_field(cell, origin) for cell in cells))
    _check_names(header, origin)
    return header


def _parse_field(cell: str, origin: str) -> HeaderField:
    found = _FIELD.fullmatch(cell)
    if found is None or not found["type"]:
        name = cell.removesuffix(":")
        return HeaderField("PROPERTY", name) if name else HeaderField("IGNORE")
    word = found["type"]
    space = (found["space"] or "")[1:-1]
    options = _options(found["options"], cell, origin)
    if word.upper() in _ROLES:
        return HeaderField(word.upper(), found["name"], "string", False, space, options)
    value_type = word.lower().removesuffix("[]")
    # ":START_ID:int" is allowed, and its ":int" is ignored.
    inner = _FIELD.fullmatch(found["name"])
    if inner is not None and inner["type"].upper() in _ROLES - {"ID"}:
        return _parse_field(found["name"], origin)
    if value_type not in PROPERTY_TYPES:
        known = ", ".join(sorted(PROPERTY_TYPES))
        raise SourceError(
            f"{origin}: header column {cell!r}: there is no type {word!r}; the types are {known}, "
            "each also with [], and ID, LABEL, START_ID, END_ID, TYPE, IGNORE"
        )
    if not found["name"]:
        raise SourceError(f"{origin}: header column {cell!r} has a type but no name")
    return HeaderField("PROPERTY", found["name"], value_type, word.endswith("[]"), space, options)


def _options(text: str | None, cell: str, origin: str) -> dict[str, str]:
    if not text:
        return {}
    try:
        return parse_options(text)
    except ValueError as error:
        raise SourceError(f"{origin}: header column {cell!r}: {text!r} is {error}") from None


def _check_names(header: ImportHeader, origin: str) -> None:
    names = Counter(column.name for column in header.fields if column.role in {"PROPERTY", "ID"})
    for name, count in names.items():
        if name and count > 1:
            raise SourceError(
                f"{origin}: the header has the name {name!r} {count} times; "
                "rename a column, or leave it out with :IGNORE"
            )
    for role in ("ID", "START_ID", "END_ID", "TYPE", "LABEL"):
        count = len(header.positions(role))
        if count > 1:
            raise SourceError(
                f"{origin}: the header has {count} columns :{role}, but one is allowed; "
                "join them into one column"
            )

"""Warns of labels and types in a projection that the database does not have."""

from __future__ import annotations

import logging
from difflib import get_close_matches
from typing import TYPE_CHECKING

from gpugda.errors import SourceError

from .bolt_reading import PageReader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.ports import Projection

    from .bolt_connection import BoltConnection

__all__ = ["warn_of_unknown_names"]

logger = logging.getLogger("gpugda.adapters.bolt")

_LABELS = "CALL db.labels() YIELD label RETURN label AS name"
_TYPES = "CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType AS name"


def warn_of_unknown_names(connection: BoltConnection, part: Projection) -> None:
    """Logs a warning for each unknown name; does nothing if the server cannot list them."""
    reader = PageReader(connection, None, "asking for labels and types", 1)
    for argument, names, text in (("labels", part.labels, _LABELS), ("types", part.types, _TYPES)):
        if not names:
            continue
        try:
            there = [str(row["name"]) for row in reader.rows(text)]
        except SourceError as error:  # not all Bolt servers have these procedures
            logger.debug("the names in %s are not checked: %s", argument, error)
            continue
        for name in names:
            if name not in there:
                logger.warning("%s", _unknown(argument, name, there))


def _unknown(argument: str, name: str, there: Iterable[str]) -> str:
    known = {each.lower(): each for each in there}
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    hint = f"; did you mean {known[near[0]]!r}?" if near else ""
    return f"{argument}=…: the database has no {argument[:-1]} {name!r}{hint}"

"""Converts captured changes to columns of events; mode DIFF has only differences, FULL states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.ports import ChangeGap

from .change_events import ChangeEvents, EntityEvents, PropertyEvents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["events_of"]

_NODE, _RELATIONSHIP = "n", "r"
_CREATE, _DELETE = "c", "d"


def events_of(rows: Iterable[Mapping[str, Any]]) -> ChangeEvents | ChangeGap:
    """The events in order of transactions; a gap if a change has an unknown form."""
    collected = _Collected()
    try:
        for row in sorted(rows, key=lambda row: int(row["transaction"])):
            collected.add(int(row["transaction"]), row["event"])
    except (KeyError, TypeError, ValueError) as error:
        return ChangeGap(f"a captured change has an unknown form ({error!r})")
    return collected.events()


@dataclass(slots=True)
class _Properties:
    """Rows (step, id, key), and their values."""

    rows: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    values: list[Any] = field(default_factory=list[Any])

    def events(self) -> PropertyEvents:
        steps, ids, codes = _columns(self.rows, 3)
        places = np.arange(len(self.rows), dtype=np.int64)
        complete = frozenset(np.unique(codes).tolist())
        return PropertyEvents(steps, ids, codes, places, self.values, complete)


class _Collected:
    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._transactions: dict[int, int] = {}
        self._created: dict[str, list[tuple[int, ...]]] = {_NODE: [], _RELATIONSHIP: []}
        self._deleted: dict[str, list[tuple[int, ...]]] = {_NODE: [], _RELATIONSHIP: []}
        self._labels: list[tuple[int, int, int]] = []
        self._properties = {_NODE: _Properties(), _RELATIONSHIP: _Properties()}

    def add(self, transaction: int, event: Mapping[str, Any]) -> None:
        """Adds one change."""
        step = self._transactions.setdefault(transaction, len(self._transactions))
        kind, operation = event["eventType"], event["operation"]
        number = _number(event["elementId"])
        if operation in (_CREATE, _DELETE):
            entries = self._created if operation == _CREATE else self._deleted
            entries[kind].append((step, number, *self._ends(event, kind)))
        if operation == _DELETE:
            return
        before, after = (event["state"][side] or {} for side in ("before", "after"))
        if kind == _NODE:
            self._add_labels(step, number, set(before.get("labels") or ()), after.get("labels"))
        self._add_properties(
            self._properties[kind], step, number, before.get("properties"), after.get("properties")
        )

    def events(self) -> ChangeEvents:
        """All events added."""
        steps, ids, codes = _columns(self._labels, 3)
        return ChangeEvents(
            transaction_count=len(self._transactions),
            names=list(self._names),
            created_nodes=EntityEvents(*_columns(self._created[_NODE], 2)),
            deleted_nodes=EntityEvents(*_columns(self._deleted[_NODE], 2)),
            labels=EntityEvents(steps, ids, codes=codes),
            created_relationships=EntityEvents(*_columns(self._created[_RELATIONSHIP], 5)),
            deleted_relationships=EntityEvents(*_columns(self._deleted[_RELATIONSHIP], 5)),
            node_properties=self._properties[_NODE].events(),
            relationship_properties=self._properties[_RELATIONSHIP].events(),
        )

    def _ends(self, event: Mapping[str, Any], kind: str) -> tuple[int, ...]:
        if kind == _NODE:
            return ()
        ends = (_number(event[side]["elementId"]) for side in ("start", "end"))
        return (*ends, self._code(event["type"]))

    def _add_labels(self, step: int, number: int, before: set[str], after: Any) -> None:
        now = set(after or ())
        self._labels += [(step, number, self._code(name)) for name in sorted(now - before)]
        self._labels += [(step, number, -1 - self._code(name)) for name in sorted(before - now)]

    def _add_properties(
        self, into: _Properties, step: int, number: int, before: Any, after: Any
    ) -> None:
        old, new = before or {}, after or {}
        for key in [*new, *(key for key in old if key not in new)]:
            # Compared as text, as 1 == 1.0 and 0.0 == -0.0; a redundant entry does no harm.
            if key in old and key in new and repr(old[key]) == repr(new[key]):
                continue
            into.rows.append((step, number, self._code(key)))
            into.values.append(new.get(key))

    def _code(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))


def _number(element_id: str) -> int:
    return int(element_id.rpartition(":")[2])


def _columns(rows: list[Any], width: int) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    return list(np.array(rows, dtype=np.int64).reshape(-1, width).T)

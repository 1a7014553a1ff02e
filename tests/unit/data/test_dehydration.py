"""Parameters mean what the driver sends."""

from __future__ import annotations

from typing import Any

import pytest
from neo4j._codec.hydration.bolt.v2 import HydrationHandler
from neo4j._codec.packstream.v1 import PackableBuffer, Packer, UnpackableBuffer, Unpacker
from parameter_kinds import KINDS, UNSENDABLE, ZONES

from gpugda.data.values.columns import column_from_values, shown_values
from gpugda.data.values.dehydration import dehydrated, for_driver
from gpugda.data.values.driver_values import as_driver_gives
from gpugda.errors import SourceError

HANDLER = HydrationHandler()
REFUSED = "refused"
FORMS = {
    "alone": lambda value: value,
    "in a list": lambda value: [value],
    "in a tuple in a map": lambda value: {"a": (value,)},
}


def sent_by_driver(value: Any) -> Any:
    """The value after a round trip through the driver's format."""
    buffer = PackableBuffer()
    try:
        Packer(buffer).pack(value, HANDLER.dehydration_hooks)
    except Exception:
        return REFUSED
    hooks = HANDLER.new_hydration_scope().hydration_hooks
    return Unpacker(UnpackableBuffer(buffer.data)).unpack(hooks)


def sent_by_us(value: Any) -> Any:
    try:
        return as_driver_gives(dehydrated(value))
    except ValueError:
        return REFUSED


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KINDS)
def test_a_value_is_what_the_driver_sends(name: str, form: str) -> None:
    value = FORMS[form](KINDS[name])
    assert repr(sent_by_us(value)) == repr(sent_by_driver(value))


@pytest.mark.parametrize("name", UNSENDABLE)
def test_what_is_not_kept_here_is_refused(name: str) -> None:
    assert sent_by_us(UNSENDABLE[name]) == REFUSED


@pytest.mark.parametrize("name", ZONES)
def test_zones_that_the_driver_does_not_survive_are_accepted(name: str) -> None:
    value, expected = ZONES[name]
    assert dehydrated(value).iso_format() == expected


@pytest.mark.parametrize("name", KINDS)
def test_properties_of_tables_are_what_the_driver_sends(name: str) -> None:
    expected = sent_by_driver(KINDS[name])
    if expected == REFUSED or repr(expected).startswith(("b'", "[b'")) or "{" in repr(expected):
        with pytest.raises(SourceError):
            column_from_values([KINDS[name]])
    else:
        assert repr(shown_values(column_from_values([KINDS[name]]))) == repr([expected])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ZONES)
def test_the_driver_gets_zones_that_it_survives(name: str, form: str) -> None:
    value = FORMS[form](ZONES[name][0])
    assert repr(sent_by_driver(for_driver(value))) == repr(sent_by_us(value))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*KINDS, *UNSENDABLE])
def test_the_driver_gets_other_values_as_they_are(name: str, form: str) -> None:
    value = FORMS[form]({**KINDS, **UNSENDABLE}[name])
    found = for_driver(value)
    assert found is value or repr(sent_by_driver(found)) == repr(sent_by_driver(value))


def test_a_list_that_holds_itself_is_refused() -> None:
    items: list[Any] = []
    items.append(items)
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        dehydrated(items)
    assert for_driver(items) is items

"""Dates that Neo4j has and the driver cannot show are values; users get what the driver gives."""

from __future__ import annotations

import pickle

import neo4j.time
import pytest
from neo4j._codec.hydration.bolt.v2 import HydrationHandler
from neo4j._codec.packstream import Structure

from gpugda.data.values.columns import column_from_values, shown_values, to_values
from gpugda.data.values.dictionaries import identity_of
from gpugda.data.values.driver_values import as_driver_gives, from_driver, is_broken
from gpugda.errors import SourceError
from gpugda.expressions.temporal.printing import moment_text
from gpugda.result.text import format_value
from gpugda.serve.packstream import Packer
from gpugda.snapshot.object_text import check_object, object_from_text, object_to_text
from gpugda.values import order_key

SENT = {
    "-999999999-01-01": (b"D", -365243219162),
    "-0001-01-01": (b"D", -719893),
    "0000-12-31": (b"D", -719163),
    "0001-01-01": (b"D", -719162),
    "9999-12-31": (b"D", 2932896),
    "+10000-01-01": (b"D", 2932897),
    "+999999999-12-31": (b"D", 365241780471),
    "-0001-01-01T01:02:03.000000004": (b"d", -62198751477, 4),
    "0000-12-31T12:00:00": (b"d", -62135640000, 0),
    "+10000-01-01T00:00:00Z": (b"I", 253402300800, 0, 0),
    "+10000-01-01T00:00:00Z[UTC]": (b"i", 253402300800, 0, "UTC"),
    "9999-12-31T23:30:00-01:00": (b"I", 253402302600, 0, -3600),
    "0001-01-01T00:30:00+01:00": (b"I", -62135598600, 0, 3600),
    "+10000-07-01T00:00:00+02:00[Europe/Paris]": (b"i", 253418018400, 0, "Europe/Paris"),
    "-0001-01-01T00:00:00+00:09:21[Europe/Paris]": (b"i", -62198755761, 0, "Europe/Paris"),
    "9999-12-31T23:30:00-05:00[America/New_York]": (b"i", 253402317000, 0, "America/New_York"),
}
"""By text: the structure that Neo4j sends."""
TEXTS = [pytest.param(text, id=text) for text in SENT]


def read(tag, *fields):
    """The value as the driver reads it."""
    hooks = HydrationHandler().new_hydration_scope().hydration_hooks
    return hooks[Structure](Structure(tag, *fields))


def same(first, second):
    if is_broken(first) and is_broken(second):
        return repr(first.error) == repr(second.error) and first.raw_data == second.raw_data
    return repr(first) == repr(second)


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_kept_exactly_and_shown_as_by_the_driver(text):
    driver = read(*SENT[text])
    column = column_from_values([driver, [driver], None])
    value, listed, nothing = to_values(column)
    assert nothing is None
    assert moment_text(value) == moment_text(listed[0]) == text
    alone, (inside,), _ = shown_values(column)
    assert same(alone, driver)
    assert same(inside, driver)


@pytest.mark.parametrize("text", TEXTS)
def test_values_survive_snapshots_pickles_and_servers(text):
    value = from_driver(read(*SENT[text]))
    tag, *fields = SENT[text]
    copies = [object_from_text(object_to_text(value))]
    if len(fields) < 3:  # pytz restores the offset 0 as the zone UTC
        copies.append(pickle.loads(pickle.dumps(value)))
    for copy in copies:
        assert identity_of(copy) == identity_of(value)
        assert moment_text(copy) == text
    check_object(value)
    packer = Packer(utc=True)
    assert packer.pack(value) == packer._structure(tag.decode(), *fields)


@pytest.mark.parametrize("kind", ["D", "d"])
def test_values_are_ordered_by_time(kind):
    some = [(fields[1], text) for text, fields in SENT.items() if fields[0] == kind.encode()]
    values = {text: from_driver(read(*SENT[text])) for _, text in some}
    assert sorted(values, key=lambda text: order_key(values[text])) == [t for _, t in sorted(some)]


def test_zero_date_of_the_driver_is_the_day_before_year_1():
    assert moment_text(from_driver(neo4j.time.ZeroDate)) == "0000-12-31"
    assert as_driver_gives(from_driver(neo4j.time.ZeroDate)) is neo4j.time.ZeroDate


@pytest.mark.parametrize("sent", [(b"i", 0, 0, "Mars/Crater"), (b"I", 10**12, 0, 30), (b"Q", 1)])
def test_values_that_nobody_can_keep_are_refused_without_an_address(sent):
    with pytest.raises(SourceError) as caught:
        column_from_values([read(*sent)])
    assert " object at 0x" not in str(caught.value)


def test_text_of_a_broken_value_is_its_date():
    assert format_value([read(*SENT["-0001-01-01"])]) == "[-0001-01-01]"

"""An accelerated driver keeps to the driver's filters of notifications and warns as it does."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import neo4j
import pytest
from fake_driver import FakeDriver

from gpugda.accelerate.notifications import Notifications
from gpugda.result.result import Result
from gpugda.result.summary import Summary

QUERY = "MATCH (a), (b) RETURN id(a) AS n"
BOTH = ["DEPRECATION", "PERFORMANCE"]


def categories(summary: Any) -> list[str]:
    told = [each for each in summary.gql_status_objects if each.is_notification]
    return sorted(each.raw_classification for each in told)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, BOTH),
        ({"notifications_min_severity": "OFF"}, []),
        ({"notifications_min_severity": "WARNING"}, ["DEPRECATION"]),
        ({"notifications_min_severity": neo4j.NotificationMinimumSeverity.INFORMATION}, BOTH),
        ({"notifications_disabled_categories": ["PERFORMANCE"]}, ["DEPRECATION"]),
        (
            {
                "notifications_disabled_categories": ["HINT"],
                "notifications_disabled_classifications": ["DEPRECATION"],
            },
            ["PERFORMANCE"],
        ),
        ({"notifications_disabled_classifications": []}, BOTH),
    ],
)
def test_a_session_has_the_notifications_that_it_wants(setup, config, expected):
    setup.device.try_device = lambda *_, **__: Result.from_rows(
        ["n"], [[1]], None, Summary("gpu", query=QUERY, rows=1)
    )
    with setup.accelerated.session(**config) as session:
        assert categories(session.run(QUERY).consume()) == expected
        assert session.execute_read(lambda tx: categories(tx.run(QUERY).consume())) == expected
    reading = setup.accelerated.session(default_access_mode="READ", **config)
    with reading as session, session.begin_transaction() as transaction:
        assert categories(transaction.run(QUERY).consume()) == expected


def test_a_driver_has_the_notifications_that_it_wants_unless_a_session_wants_others():
    driver = FakeDriver()
    driver._pool = SimpleNamespace(
        pool_config=SimpleNamespace(
            notifications_min_severity="WARNING",
            notifications_disabled_classifications=["DEPRECATION"],
        )
    )
    driver._default_workspace_config = SimpleNamespace(warn_notification_severity="INFORMATION")
    chosen = Notifications.of_driver(driver)
    assert chosen == Notifications("WARNING", frozenset({"DEPRECATION"}), "INFORMATION")
    assert chosen.within({}) == chosen
    other = chosen.within({"notifications_min_severity": "OFF"})
    assert (other.least, other.disabled) == ("OFF", chosen.disabled)
    other = chosen.within({"notifications_disabled_categories": []})
    assert (other.least, other.disabled) == ("WARNING", frozenset())


def test_the_configuration_of_a_real_driver_is_found():
    with neo4j.GraphDatabase.driver(
        "bolt://localhost:1",
        notifications_min_severity="WARNING",
        notifications_disabled_classifications=["HINT"],
        warn_notification_severity="WARNING",
    ) as driver:
        found = Notifications.of_driver(driver)
    assert found == Notifications("WARNING", frozenset({"HINT"}), "WARNING")


@pytest.mark.parametrize(
    ("least", "expected"), [("", []), ("WARNING", ["id"]), ("INFORMATION", ["id", "product"])]
)
def test_notifications_become_warnings_at_the_callers_line(setup, least, expected):
    setup.device.try_device = lambda *_, **__: Result.from_rows(
        ["n"], [[1]], None, Summary("gpu", query=QUERY, rows=1)
    )
    setup.gate.notifications = Notifications(warns=least)
    with warnings.catch_warnings(record=True) as caught, setup.accelerated.session() as session:
        warnings.simplefilter("always")
        session.run(QUERY).consume()
    found = [each for each in caught if issubclass(each.category, neo4j.warnings.Neo4jWarning)]
    names = ["id" if issubclass(each.category, DeprecationWarning) else "product" for each in found]
    assert sorted(names) == expected
    assert {each.filename for each in found} <= {__file__}

"""Which notifications a caller of the driver wants, and which of them become warnings."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import neo4j.warnings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpugda.query.notices import Notice
    from gpugda.result.result import Result
    from gpugda.result.summary import Summary

__all__ = ["Notifications"]

_DISABLED = ("notifications_disabled_categories", "notifications_disabled_classifications")
_SEVERITIES = ("INFORMATION", "WARNING")
_OWN = ("gpugda.", "neo4j.")
_OLD = neo4j.__version__.startswith("5.")
"""True for drivers whose warnings take the older form of notifications."""


@dataclass(frozen=True, slots=True)
class Notifications:
    """A choice of notifications, as the server makes it for the driver.

    Args:
        least: ``OFF``, ``WARNING`` or ``INFORMATION``; empty for the server's default, all.
        disabled: Classifications without notifications.
        warns: The least severity that becomes a Python warning; empty for no warnings.
    """

    least: str = ""
    disabled: frozenset[str] = frozenset()
    warns: str = ""

    @classmethod
    def of_driver(cls, driver: Any) -> Self:
        """The choice of a driver, whose configuration is not public; if it is not found, all."""
        pool = getattr(getattr(driver, "_pool", None), "pool_config", None)
        workspace = getattr(driver, "_default_workspace_config", None)
        return cls(
            _word(getattr(pool, "notifications_min_severity", None)),
            _words(getattr(pool, "notifications_disabled_classifications", None)),
            _word(getattr(workspace, "warn_notification_severity", None)),
        )

    def within(self, config: Mapping[str, Any]) -> Notifications:
        """The choice of a session's configuration, which has precedence."""
        lists = [config[name] for name in _DISABLED if config.get(name) is not None]
        return replace(
            self,
            least=_word(config.get("notifications_min_severity")) or self.least,
            disabled=frozenset().union(*map(_words, lists)) if lists else self.disabled,
        )

    def passes(self, notice: Notice) -> bool:
        """True if the server would send the notification."""
        if self.least == "OFF" or notice.category in self.disabled:
            return False
        return self.least != "WARNING" or notice.severity == "WARNING"

    def told(self, result: Result) -> Result:
        """Leaves out the other notifications of a result, and warns as the driver does."""
        result._summary = replace(result._summary, keeps=self.passes)
        if self.warns in _SEVERITIES and result._summary.all_notices:
            self._warn(result._summary)
        return result

    def _warn(self, summary: Summary) -> None:
        told = [each for each in summary.gql_status_objects if each.is_notification]
        if _OLD:
            told = list(summary.summary_notifications)
        for each in told:
            if each.raw_severity not in _SEVERITIES[_SEVERITIES.index(self.warns) :]:
                continue
            named = each.raw_category if _OLD else each.raw_classification
            kind = neo4j.warnings.Neo4jWarning
            if named == "DEPRECATION":
                kind = neo4j.warnings.Neo4jDeprecationWarning
            warnings.warn(kind(each, summary.query), stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """The stack level, for ``warnings.warn`` in the calling function, of the user's code."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OWN):
        frame, level = frame.f_back, level + 1
    return level


def _word(value: Any) -> str:
    return str(getattr(value, "value", value) or "").upper()


def _words(values: Iterable[Any] | None) -> frozenset[str]:
    return frozenset(map(_word, values or ()))

"""What a server has answered: counts and times of each engine, and the slowest texts."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from gpugda.query.statements import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BOUNDS", "Journal"]

logger = logging.getLogger(__name__)

BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Upper bounds of the classes of times, in seconds; the last class has none."""
_MOST_TEXTS = 500
_SHOWN_TEXTS = 50
_SHOWN_CHARACTERS = 2000


@dataclass(slots=True)
class _Text:
    """One text of a query."""

    text: str
    runs: int = 0
    longest: float = 0.0
    engine: str = ""
    reason: str = ""


class Journal:
    """Notes queries when the first row can be read; used in the event loop only."""

    def __init__(self) -> None:
        self.started_at = time.time()
        self.classes: dict[str, list[int]] = {}
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.failures = 0
        self._texts: dict[int, _Text] = {}  # by the text's hash, as a text may be long
        self._ids = count(1)

    def note(self, client: str, text: str, engine: str, seconds: float, reason: str = "") -> None:
        """Notes a query.

        Args:
            client: The connection's id.
            text: The query; it is not logged, as it may hold data. If it may hold a secret, or is
                empty, only counts and times are noted.
            engine: What answered it: "neo4j" for the server behind.
            seconds: Time until the first row could be read.
            reason: Why this engine answered.
        """
        if is_secret(text):
            text = reason = ""  # a reason may quote the text
        reason = reason[:_SHOWN_CHARACTERS]
        logger.info(
            "query=%d client=%s engine=%s seconds=%.6f reason=%r",
            next(self._ids), client, engine, seconds, reason,
        )  # fmt: skip
        classes = self.classes.setdefault(engine, [0] * (len(BOUNDS) + 1))
        classes[sum(seconds > bound for bound in BOUNDS)] += 1
        self.seconds[engine] += seconds
        if not text:
            return
        key = hash(text)
        found = self._texts.get(key)
        if found is None:
            if len(self._texts) >= _MOST_TEXTS:
                del self._texts[min(self._texts, key=lambda each: self._texts[each].longest)]
            found = self._texts[key] = _Text(text[:_SHOWN_CHARACTERS])
        found.runs += 1
        if seconds >= found.longest:
            found.longest, found.engine, found.reason = seconds, engine, reason

    def slowest(self) -> list[dict[str, Any]]:
        """The slowest texts, the slowest first."""
        texts = sorted(self._texts.values(), key=lambda each: -each.longest)[:_SHOWN_TEXTS]
        return [
            {
                "text": each.text,
                "runs": each.runs,
                "seconds": each.longest,
                "engine": each.engine,
                "reason": each.reason,
            }
            for each in texts
        ]

    def collect(self) -> Iterator[Any]:
        """The metrics, as `prometheus_client` collects them."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        times = HistogramMetricFamily(
            "gpugda_query_seconds", "Time until the first row of a query.", labels=["engine"]
        )
        for engine, classes in self.classes.items():
            names = [*map(str, BOUNDS), "+Inf"]
            sums = [sum(classes[: place + 1]) for place in range(len(classes))]
            buckets = list(zip(names, map(float, sums), strict=True))
            times.add_metric([engine], buckets, self.seconds[engine])
        yield times
        yield CounterMetricFamily("gpugda_failures", "Queries that failed.", value=self.failures)

"""Compares the planner's estimates with what queries do: rows per operator, and seconds."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import gpugda
from lab.directory_graph import directory_graph, social_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpugda.plan.operator_tree import OperatorNode
    from gpugda.ports import GraphSource

__all__ = ["Estimated", "estimated", "estimates_table"]

_GRAPHS: Final[dict[str, Callable[[], GraphSource | str]]] = {
    "directory": directory_graph,
    "social": social_graph,
    "wordnet": lambda: "sample:wordnet",
}
_CLOSE: Final = 5.0
_REPETITIONS: Final = 3


class Estimated(NamedTuple):
    """A query, the seconds that were estimated and taken, and the rows of each operator.

    Args:
        query: The query.
        expected: Estimated seconds.
        seconds: Least seconds of several runs, with a cached plan.
        rows: Estimated and measured rows per operator; NaN for one without an estimate.
    """

    query: str
    expected: float
    seconds: float
    rows: tuple[tuple[float, int], ...]

    @property
    def time_ratio(self) -> float:
        """Estimated seconds as a multiple of the measured ones."""
        return self.expected / self.seconds

    @property
    def row_ratios(self) -> tuple[float, ...]:
        """Estimated rows as multiples of measured ones; both count as at least 1."""
        return tuple(max(1.0, e) / max(1, r) if e == e else math.nan for e, r in self.rows)


def estimated(timeout: float = 60.0, *, processor_time: bool = False) -> Iterator[Estimated]:
    """Runs all queries on the device, one graph after the other.

    Args:
        timeout: Seconds per query.
        processor_time: True to measure time of all processors, for a CPU that other programs use.
    """
    clock = time.process_time if processor_time else time.perf_counter
    for name, make in _GRAPHS.items():
        with gpugda.connect(make()) as accelerator:
            accelerator.calibrate(again=True)
            for text in _queries(name):
                accelerator.run(text, timeout=timeout).values()
                expected = accelerator.explain(text).estimate.seconds
                times = []
                for _ in range(_REPETITIONS):
                    started = clock()
                    accelerator.run(text, timeout=timeout).values()
                    times.append(clock() - started)
                tree = accelerator.profile(text, timeout=timeout)
                yield Estimated(text, expected or math.nan, min(times), tuple(_rows_of(tree)))


def _queries(graph: str) -> list[str]:
    text = (Path(__file__).parent / "estimates.cypher").read_text(encoding="utf-8")
    return text.partition(f"// graph {graph}\n")[2].partition("\n//")[0].split("\n")[:-1]


def _rows_of(tree: OperatorNode) -> Iterator[tuple[float, int]]:
    for _, node in tree.lines():
        if node.rows is not None:
            yield math.nan if node.expected is None else node.expected, node.rows


def estimates_table(found: Iterable[Estimated]) -> Iterator[str]:
    """Lines of a Markdown table, and the shares of estimates within five times."""
    yield "| query | ms | estimated / taken | rows estimated / made, worst |\n|---|---:|---:|---:|"
    times, rows = list[float](), list[float]()
    for each in found:
        ratios = each.row_ratios
        worst = max(ratios, key=lambda ratio: math.inf if ratio != ratio else abs(math.log(ratio)))
        times.append(each.time_ratio)
        rows += ratios
        text = each.query.replace("|", "\\|")
        yield f"| `{text}` | {each.seconds * 1e3:.3g} | {each.time_ratio:.2g} | {worst:.2g} |"
    yield f"\nwithin {_CLOSE:g} times: {_share(times)} of times, {_share(rows)} of operators' rows"


def _share(ratios: list[float]) -> str:
    close = sum(1 / _CLOSE <= ratio <= _CLOSE for ratio in ratios)
    return f"{close} of {len(ratios)} ({close / len(ratios):.0%})"

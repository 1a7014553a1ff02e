"""The operator tree as shown to users: description, estimated rows, measured figures."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from gpugda.plan.readable import bytes_text, count_text
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.plan.physical import Physical

__all__ = ["OperatorNode", "operators_of"]


@value(frozen=True, slots=True)
class OperatorNode:
    """An operator and its inputs. Print it as text; notebooks render it as a table.

    Args:
        what: Description of the operator.
        expected: Estimated rows; None if there is no estimate.
        rows: Output rows; None if it did not run.
        seconds: Its own time without that of its inputs; None if it did not run.
        steps: What the device did for it, one line each.
        children: Its inputs.
        device_bytes: Peak device memory in bytes, without the graph and cached data of earlier
            queries; None if nothing ran on the device.
    """

    what: str
    expected: float | None = None
    rows: int | None = None
    seconds: float | None = None
    steps: tuple[str, ...] = ()
    children: tuple[OperatorNode, ...] = ()
    device_bytes: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The tree as plain values for JSON."""
        return {
            "what": self.what,
            "expected": self.expected,
            "rows": self.rows,
            "seconds": self.seconds,
            "device_bytes": self.device_bytes,
            "steps": list(self.steps),
            "children": [child.as_dict() for child in self.children],
        }

    def lines(self, depth: int = 0) -> Iterator[tuple[int, OperatorNode]]:
        """The operators from the root down, each with its depth."""
        yield depth, self
        for child in self.children:
            yield from child.lines(depth + 1)

    def __str__(self) -> str:
        rows = [("  " * depth + node.what, *node._figures()) for depth, node in self.lines()]
        widths = [max(len(row[place]) for row in rows) for place in range(5)]
        text: list[str] = []
        for (depth, node), row in zip(self.lines(), rows, strict=True):
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True) if w]
            text.append("  ".join(cells).rstrip())
            text += ["  " * depth + "    " + line for line in node.steps]
        return "\n".join(text)

    def _repr_html_(self) -> str:
        total = sum(node.seconds or 0.0 for _, node in self.lines()) or 1.0
        body = "".join(node._html(depth, total) for depth, node in self.lines())
        head = "".join(
            f"<th>{name}</th>" for name in ("operator", "expected", "rows", "time", "device", "")
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _figures(self) -> tuple[str, str, str, str]:
        expected = "" if self.expected is None else f"expected {count_text(self.expected)}"
        rows = "" if self.rows is None else f"{self.rows:,} row{'' if self.rows == 1 else 's'}"
        seconds = "" if self.seconds is None else f"{self.seconds * 1000:,.1f} ms"
        taken = "" if self.device_bytes is None else bytes_text(self.device_bytes)
        return expected, rows, seconds, taken

    def _html(self, depth: int, total: float) -> str:
        share = 100 * (self.seconds or 0.0) / total
        bar = f'<div style="background:#4a90d9;height:0.8em;width:{share:.0f}px"></div>'
        steps = "".join(f"<br><small>{escape(line)}</small>" for line in self.steps)
        what = f'<td style="text-align:left;padding-left:{depth}em">{escape(self.what)}{steps}</td>'
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in self._figures())
        return f"<tr>{what}{cells}<td>{bar}</td></tr>"


def operators_of(physical: Physical) -> OperatorNode:
    """The operators of a plan that did not run."""
    children = tuple(map(operators_of, physical.children))
    return OperatorNode(physical.what, physical.rows, children=children)

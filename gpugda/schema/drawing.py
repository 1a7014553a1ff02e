"""Draws labels and the relationship types between them, as an SVG without scripts."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Pair", "schema_drawing"]

Pair = tuple[str | None, str | None]
"""Start and end label of relationships; None for nodes without a label."""
_Point = tuple[float, float]
_DRAWN_LABELS = 30
_NODE = 34
"""Radius of a label's circle, in pixels."""
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#79706e")


def schema_drawing(labels: Sequence[str | None], types: Mapping[Pair, Sequence[str]]) -> str:
    """An SVG: labels on a circle, relationship types as arrows between them.

    Colours of text and lines follow the page, so that it can be read on a dark one.

    Args:
        labels: The labels, those to be drawn first; None stands for nodes without a label.
        types: Names of the types that connect two labels, the most frequent first.
    """
    names = labels[:_DRAWN_LABELS]
    if not names:
        return ""
    radius = max(2.2 * _NODE, len(names) * 1.5 * _NODE / math.pi) if len(names) > 1 else 0.0
    centre = radius + 3 * _NODE
    places = {
        name: (
            centre + radius * math.sin(2 * math.pi * place / len(names)),
            centre - radius * math.cos(2 * math.pi * place / len(names)),
        )
        for place, name in enumerate(names)
    }
    size = 2 * centre
    arrows = _arrows(types, places, (centre, centre))
    circles = [
        _circle(name, at, _COLOURS[place % len(_COLOURS)])
        for place, (name, at) in enumerate(places.items())
    ]
    return (
        f'<svg viewBox="0 0 {size:.0f} {size:.0f}" width="{min(size, 640):.0f}" role="img" '
        'font-family="sans-serif" font-size="10" fill="currentColor">'
        "<title>labels and relationship types</title>"
        '<defs><marker id="gpugda-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0,0L8,4L0,8z"/></marker></defs>'
        f"{''.join(arrows)}{''.join(circles)}</svg>"
    )


def _circle(name: str | None, at: _Point, colour: str) -> str:
    x, y = at
    text = name or "no label"
    shown = text if len(text) <= 11 else f"{text[:10]}…"
    return (
        f'<g><title>{escape(text)}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{_NODE}" '
        f'fill="{colour}"/><text x="{x:.1f}" y="{y + 3:.1f}" text-anchor="middle" '
        f'fill="#fff">{escape(shown)}</text></g>'
    )


def _arrows(
    types: Mapping[Pair, Sequence[str]], places: dict[str | None, _Point], centre: _Point
) -> list[str]:
    """One arrow per pair of labels; its caption names the first type."""
    drawn = []
    for (start, end), names in types.items():
        if start not in places or end not in places:
            continue
        caption = names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}"
        path, at = (
            _loop(places[start], centre)
            if start == end
            else _curve(places[start], places[end], bend=0.18)
        )
        drawn.append(
            f"<g><title>{escape(', '.join(names))}</title>"
            f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.45" '
            'marker-end="url(#gpugda-arrow)"/>'
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="middle" font-size="8" '
            f'fill-opacity="0.8">{escape(caption)}</text></g>'
        )
    return drawn


def _curve(start: _Point, end: _Point, bend: float) -> tuple[str, _Point]:
    """A bent line between two circles, so that the arrow back lies beside it; its middle."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    middle = (start[0] + end[0]) / 2 - dy * bend, (start[1] + end[1]) / 2 + dx * bend
    first = _towards(start, middle)
    last = _towards(end, middle)
    caption = (
        (start[0] + end[0]) / 4 + middle[0] / 2 - dy / length * 4,
        (start[1] + end[1]) / 4 + middle[1] / 2 + dx / length * 4,
    )
    path = f"M{first[0]:.1f},{first[1]:.1f}Q{middle[0]:.1f},{middle[1]:.1f} "
    return f"{path}{last[0]:.1f},{last[1]:.1f}", caption


def _loop(at: _Point, centre: _Point) -> tuple[str, _Point]:
    """An arrow from a circle to itself, on the side away from the centre; its far end."""
    angle = math.atan2(at[1] - centre[1], at[0] - centre[0]) if at != centre else -math.pi / 2

    def point(turn: float, distance: float) -> _Point:
        return (
            at[0] + distance * math.cos(angle + turn),
            at[1] + distance * math.sin(angle + turn),
        )

    first, last = point(-0.45, _NODE), point(0.45, _NODE)
    one, other = point(-0.6, 2.6 * _NODE), point(0.6, 2.6 * _NODE)
    path = f"M{first[0]:.1f},{first[1]:.1f}C{one[0]:.1f},{one[1]:.1f} "
    far = point(0, 2.35 * _NODE)
    return f"{path}{other[0]:.1f},{other[1]:.1f} {last[0]:.1f},{last[1]:.1f}", far


def _towards(circle: _Point, point: _Point) -> _Point:
    """The place on a circle's rim nearest to a point."""
    dx, dy = point[0] - circle[0], point[1] - circle[1]
    length = math.hypot(dx, dy) or 1.0
    return circle[0] + dx / length * _NODE, circle[1] + dy / length * _NODE

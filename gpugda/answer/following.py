"""Status entries about how a snapshot follows the changes of its database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpugda.live.keeper import SnapshotKeeper
    from gpugda.ports import ServerFacts

__all__ = ["following_status"]

_ADVICE = (
    "install gpugda's plugin in the server (gpugda plugin install): changes are applied instead of "
    "reading the database anew, and it is read 5 times as fast"
)


def following_status(keeper: SnapshotKeeper, facts: ServerFacts) -> dict[str, Any]:
    """Returns how the database is followed, what was applied, and advice to improve it."""
    follower = keeper.follower
    loaded = keeper.loaded
    return {
        "following": follower.described or f"not followed: {follower.reason}",
        "transactions_applied": 0 if loaded is None else loaded.transactions,
        "changes_seconds": follower.seconds if follower.transactions else None,
        "advice": "" if follower.follows else _advice(facts),
    }


def _advice(facts: ServerFacts) -> str:
    if not facts.sees_everything or facts.product != "Neo4j":
        return ""
    if facts.plugin:
        return ""
    if facts.clustered or "aura" in facts.address:
        return "turn change data capture on for the database: changes are applied then"
    return facts.plugin_advice or _ADVICE

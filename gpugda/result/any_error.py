"""What ``except gpugda.Error`` catches."""

from __future__ import annotations

from typing import Final

from neo4j.exceptions import DriverError, Neo4jError

from gpugda.errors import GpugdaError

__all__ = ["Error"]

Error: Final[tuple[type[Exception], ...]] = (GpugdaError, Neo4jError, DriverError)
"""Every error of a query: gpugda's own, the server's and the driver's, which pass unchanged."""

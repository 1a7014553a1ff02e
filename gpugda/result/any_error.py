"""The exception classes that ``except gpugda.Error`` catches."""

from __future__ import annotations

from typing import Final

from neo4j.exceptions import DriverError, Neo4jError

from gpugda.errors import GpugdaError

__all__ = ["Error"]

Error: Final[tuple[type[Exception], ...]] = (GpugdaError, Neo4jError, DriverError)
"""All errors of a query: gpugda's own, and those of the server and the driver, unchanged."""

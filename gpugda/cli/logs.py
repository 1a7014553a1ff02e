"""The library's log, on standard error."""

from __future__ import annotations

import logging

from gpugda.cli.failures import say

__all__ = ["log_to_standard_error"]


def log_to_standard_error(verbose: int) -> None:
    """Sends the library's log to standard error."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logger = logging.getLogger("gpugda")
    logger.setLevel(level)
    # Why the very first query waits is worth a line, asked for or not.
    logging.getLogger("gpugda.device").setLevel(min(level, logging.INFO))
    if not logger.handlers:
        logger.addHandler(_StandardError())


class _StandardError(logging.Handler):
    """Writes to the standard error of the moment, as tests and notebooks replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"{record.levelname.lower()}: {self.format(record)}")

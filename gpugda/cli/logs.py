"""Shows the library's log on standard error."""

from __future__ import annotations

import logging

from gpugda.cli.failures import say

__all__ = ["log_to_standard_error"]


def log_to_standard_error(verbose: int) -> None:
    """Sends the library's log to standard error."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logger = logging.getLogger("gpugda")
    logger.setLevel(level)
    # Always shown: the reason why the very first query waits.
    logging.getLogger("gpugda.device").setLevel(min(level, logging.INFO))
    if not logger.handlers:
        logger.addHandler(_StandardError())


class _StandardError(logging.Handler):
    """Writes to the current ``sys.stderr``, which tests and notebooks replace."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"{record.levelname.lower()}: {self.format(record)}")

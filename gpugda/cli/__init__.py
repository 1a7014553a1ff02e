"""The command ``gpugda``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Runs the command line of this process and exits."""
    if sys.argv[1:] == ["--version"]:
        from importlib.metadata import version

        sys.stdout.write(f"gpugda {version('gpugda')}\n")  # at once: nothing else need be imported
        return
    from gpugda.cli.app import app

    app(prog_name="gpugda")

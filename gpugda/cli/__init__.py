"""The command line program ``gpugda``."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDS = ("typer", "rich", "prompt_toolkit", "pygments")  # the extra gpugda[cli]
_MISUSED = 2
_CANCELLED = 130  # exit code that shells expect after Ctrl-C


def main() -> None:
    """Runs the command line of this process and exits."""
    if sys.argv[1:] == ["--version"]:
        from importlib.metadata import version

        sys.stdout.write(f"gpugda {version('gpugda')}\n")  # fast: imports nothing else
        return
    missing = [name for name in _NEEDS if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"gpugda: the command needs packages that are not installed ({', '.join(missing)}): "
            "pip install 'gpugda[cli]', or './gpugda[cli]' beside a clone. The library "
            "(import gpugda) needs none of them.\n"
        )
        sys.exit(_MISUSED)
    try:
        from gpugda.cli.app import app

        app(prog_name="gpugda")
    except KeyboardInterrupt:  # Ctrl-C before a command runs; commands say "cancelled"
        sys.exit(_CANCELLED)

"""Runs the ``gpugda`` command as ``python -m gpugda``."""

from __future__ import annotations

from gpugda.cli import main

if __name__ == "__main__":
    main()

"""Runs a Python script with accelerated drivers: ``python -m gpugda.accelerate script.py``."""

from __future__ import annotations

import sys

from gpugda.accelerate.command import main

if __name__ == "__main__":
    main(sys.argv[1:])

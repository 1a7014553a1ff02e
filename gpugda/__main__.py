"""``python -m gpugda`` is the command ``gpugda``."""

from __future__ import annotations

from gpugda.cli import main

if __name__ == "__main__":
    main()

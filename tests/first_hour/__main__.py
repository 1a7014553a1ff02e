"""``python -m tests.first_hour``, from the repository's root."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from run import main

if __name__ == "__main__":
    sys.exit(main())

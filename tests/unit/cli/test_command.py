"""The command as users run it: a process of its own, on the sample, without a device."""

from __future__ import annotations

import json
import subprocess
import sys

DOG = """
MATCH (:Word {name: $name})-[h:HAS_SENSE]->(s:Noun)
RETURN s.name AS name, h.sense ORDER BY h.sense
"""


def gpugda(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "gpugda", *arguments], capture_output=True, text=True, check=False
    )


def test_run_on_the_sample():
    outcome = gpugda(
        *("run", "-a", "sample:wordnet", "--engine", "reference", "--format", "json"),
        *("-P", "name='dog'", "--summary", DOG),
    )
    assert outcome.returncode == 0, outcome.stderr
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert rows[0] == {"name": "dog", "h.sense": 1}
    assert [row["h.sense"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert "engine reference" in outcome.stderr


def test_an_error_on_the_sample():
    outcome = gpugda("run", "-a", "sample:wordnet", "MATCH (n) RETURN m")
    assert outcome.returncode == 1
    assert "line 1, column 18" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.stdout == ""


def test_an_unknown_sample():
    outcome = gpugda("run", "-a", "sample:wordnot", "RETURN 1")
    assert outcome.returncode == 2
    assert "sample:wordnet" in outcome.stderr

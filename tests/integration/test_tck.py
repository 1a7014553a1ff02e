"""The openCypher TCK through gpugda on a live Neo4j, with the runner beside the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from neo4j_servers import ROOT, Server

SHARED = Path(os.environ.get("GPUGDA_SHARED", ROOT.parent / "shared"))
RUNNER = SHARED / "tck" / "tck_run.py"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not RUNNER.exists(), reason="no TCK beside the checkout (set GPUGDA_SHARED)"
    ),
]


def run_tck(server: Server, cache: Path, *options: str) -> tuple[int, str]:
    """Exit status and output."""
    server.wipe()
    done = subprocess.run(
        [sys.executable, RUNNER, "--uri", server.uri, "--kind", "rows", "--show", "1000", *options],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={
            **os.environ,
            "GPUGDA_CACHE_DIR": str(cache),
            "PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parents[1], RUNNER.parent))),
        },
    )
    return done.returncode, done.stdout + done.stderr


def test_the_auto_engine_answers_everything_as_neo4j(server, tmp_path):
    status, said = run_tck(server, tmp_path, "--engine", "auto", "--tiers", "1,2,3,4")
    assert status == 0, said[-6000:]


def test_the_device_is_never_wrong_and_answers_most_of_tier_1(server, tmp_path):
    need = ("--need", "1=90,2=0,3=0,4=0", "--need-device", "1=100")
    status, said = run_tck(server, tmp_path, "--engine", "gpu", "--tiers", "1,2,3,4", *need)
    assert status == 0, said[-3000:]
    others = re.findall(r"^tier \d.*\n +(?!refused: )\S.*", said, re.M)
    assert not others[:20]


EMBEDDED = ("--adapter", "embedded_tck:Embedded", "--tiers", "1,2,3,4")


def test_the_reference_gives_all_rows_on_embedded_graphs(server, tmp_path):
    status, said = run_tck(server, tmp_path, "--engine", "reference", *EMBEDDED)
    assert status == 0, said[-6000:]


def test_the_device_is_never_wrong_on_embedded_graphs(server, tmp_path):
    need = ("--need", "1=99,2=97,3=95,4=85")
    status, said = run_tck(server, tmp_path, "--engine", "gpu", *EMBEDDED, *need)
    assert status == 0, said[-3000:]
    others = re.findall(r"^tier \d.*\n +(?!refused: )\S.*", said, re.M)
    assert not others[:20]

"""Single parts, measured on a ring by the laboratory's command."""

import pytest
from typer.testing import CliRunner

from lab.__main__ import app

pytestmark = pytest.mark.device


@pytest.mark.slow
def test_every_variant_is_measured(tmp_path):
    edges = "".join(f"{i} {(i + 1) % 6}\n{(i + 1) % 6} {i}\n" for i in range(6))
    (tmp_path / "ring.edges").write_text(edges)
    arguments = ["ablations", "--uri", str(tmp_path / "ring.edges"), "--sizes", "2"]
    ran = CliRunner().invoke(app, [*arguments, "--per-size", "2"])
    assert ran.exit_code == 0, ran.output
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in ran.output.splitlines()]
    variants = {row[1]: row for row in rows if len(row) == 6}
    assert set(variants) >= {"off", "once", "fixpoint", "device", "host", "memory limit 16MiB"}
    assert variants["once"][2] != "0"


def test_indexes_need_a_database(tmp_path):
    (tmp_path / "ring.edges").write_text("0 1\n1 0\n")
    arguments = ["ablations", "--uri", str(tmp_path / "ring.edges"), "--load", "drwho"]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code != 0
    assert "writes a graph into a database" in " ".join(ran.output.split())

import re

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("neo4j_viz", reason="neo4j-viz is not installed")

from example_notebooks import NOTEBOOKS, run_notebook, shown

# Warnings of Jupyter's own modules.
pytestmark = pytest.mark.filterwarnings("default")


def test_each_tutorial_has_a_notebook():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {
        "analyst",
        "application",
        "notebook",
    }


def test_notebooks_hold_no_output():
    for path in NOTEBOOKS.glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert '"outputs": []' in text
        assert '"output_type"' not in text


@pytest.mark.slow
@pytest.mark.device
def test_the_analyst_notebook_runs(tmp_path):
    cells = run_notebook("analyst", tmp_path)
    assert "Cleo" in shown(cells[2])
    assert "engine gpu" in shown(cells[3])
    assert re.search(r"first [\d.]+ ms, then [\d.]+ ms", shown(cells[4]))
    assert "strategy extend" in shown(cells[6])


@pytest.mark.slow
@pytest.mark.device
def test_the_notebook_of_magics_runs(tmp_path):
    cells = run_notebook("notebook", tmp_path)
    assert "7 rows" in shown(cells[2])
    assert shown(cells[3]).strip() == "7"
    assert "7 rows" in shown(cells[4])
    assert "<table" in shown(cells[5])
    assert "HAS_SENSE" in shown(cells[7])

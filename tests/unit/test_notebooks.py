import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("neo4j_viz", reason="neo4j-viz is not installed")

from example_notebooks import NOTEBOOKS, run_notebook, shown

# What Jupyter's own parts warn of.
pytestmark = pytest.mark.filterwarnings("default")


def test_there_is_one_for_each_tutorial():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {
        "analyst",
        "application",
        "notebook",
    }


def test_no_output_is_kept():
    for path in NOTEBOOKS.glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert '"outputs": []' in text
        assert '"output_type"' not in text


@pytest.mark.device
def test_the_analysts_notebook(tmp_path):
    cells = run_notebook("analyst", tmp_path)
    assert "Cleo" in shown(cells[2])
    assert "engine gpu" in shown(cells[3])
    assert "strategy extend" in shown(cells[5])


@pytest.mark.device
def test_the_notebook_of_magics(tmp_path):
    cells = run_notebook("notebook", tmp_path)
    assert "7 rows" in shown(cells[2])
    assert shown(cells[3]).strip() == "7"
    assert "HAS_SENSE" in shown(cells[5])

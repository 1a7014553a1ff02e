"""Runs the documentation's notebooks from beginning to end."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def run_notebook(name, folder):
    """The cells with their output; an error in a cell is raised."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    """All output of a cell, as text and as HTML."""
    found = []
    for output in cell.outputs:
        found.append(output.get("text", ""))
        found += map(str, output.get("data", {}).values())
    return "\n".join(found)

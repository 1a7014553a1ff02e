"""Adapter of the TCK's runner for embedded graphs: ``--adapter embedded_tck:Embedded``.

Neo4j creates a scenario's graph, gpugda saves it, and queries run on the saved graph, without
Neo4j.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import tck_run

import gpugda


class Embedded(tck_run.Gpugda):
    """Queries on embedded graphs, by ``engine``: ``gpu`` or ``reference``."""

    live: Any = None

    def load(self, setup: Any) -> None:
        self.accelerator = self.live
        super().load(setup)
        self.live = self.accelerator
        with tempfile.TemporaryDirectory() as folder:
            saved = Path(folder) / "graph"
            self.live.save(saved)
            self.accelerator = gpugda.connect(saved)
            self.accelerator.warm(60)

    def run(self, query: str, parameters: Any) -> Any:
        self.on_device = None
        result = self.accelerator.run(query, parameters, engine=self.engine, timeout=60)
        columns, rows = list(result.keys()), [list(record.values()) for record in result]
        self.on_device = result.summary.engine == "gpu"
        return columns, rows

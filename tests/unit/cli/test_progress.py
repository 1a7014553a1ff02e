from __future__ import annotations

import io

from rich.console import Console
from rich.progress import Progress

from gpugda.cli.progress import BarProgress, shown_progress
from gpugda.ports import SilentProgress


def test_one_bar_at_a_time():
    with Progress(console=Console(file=io.StringIO()), auto_refresh=False) as bars:
        progress = BarProgress(bars)
        progress.advance(1)  # no phase has begun: nothing is shown
        progress.phase("reading nodes")
        progress.phase("reading relationships", 10)
        progress.advance(4)
        (task,) = bars.tasks
        assert (task.description, task.total, task.completed) == ("reading relationships", 10, 4)


def test_no_progress_is_shown_without_a_terminal():
    with shown_progress() as progress:
        assert isinstance(progress, SilentProgress)


def test_progress_is_shown_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress() as progress:
        assert isinstance(progress, BarProgress)
        progress.phase("reading nodes", 2)
        progress.advance(2)
    assert "reading nodes" in terminal.getvalue()

from __future__ import annotations

import pytest


@pytest.fixture
def saved(accelerator):
    """Replaces saving: records the arguments and makes the folder."""
    calls = []

    def save(path, compression=None):
        calls.append((path, compression))
        from pathlib import Path

        Path(path).mkdir()
        (Path(path) / "arrays").write_bytes(b"x" * 2048)

    accelerator.save = save
    return calls


def test_snapshot_save_writes_a_snapshot(saved, gpugda_command, tmp_path):
    target = str(tmp_path / "snapshot")
    outcome = gpugda_command("snapshot", "save", target, "-a", "x", "--compression", "lz4")
    assert outcome.exit_code == 0, outcome.output
    assert saved == [(target, "lz4")]
    assert "2.0 KiB" in outcome.stderr


def test_snapshot_info_describes_a_snapshot(gpugda_command):
    from gpugda_adapters.samples import SampleSource

    with SampleSource("wordnet").read(None) as folder:
        outcome = gpugda_command("snapshot", "info", str(folder.path))
    assert outcome.exit_code == 0
    assert "264,965" in outcome.stdout
    assert "27: " in outcome.stdout
    assert "… 15 more" in outcome.stdout


def test_snapshot_info_of_another_folder_is_an_error(gpugda_command, tmp_path):
    outcome = gpugda_command("snapshot", "info", str(tmp_path))
    assert outcome.exit_code == 3
    assert "not a snapshot" in outcome.stderr

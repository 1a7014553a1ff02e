import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from gpugda_adapters import plugin_jar
from gpugda_adapters.neo4j_bolt import BoltSource

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def jar(monkeypatch):
    monkeypatch.setattr(BoltSource, "plugin_jar", staticmethod(lambda: b"a jar"))
    return b"a jar"


def test_the_plugin_is_installed_and_replaced(jar, gpugda_command, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "neo4j.conf").write_text("server.memory.heap.max_size=1g\n")
    outcome = gpugda_command("plugin", "install", "--neo4j-home", str(tmp_path))
    assert outcome.exit_code == 0, outcome.output
    (found,) = (tmp_path / "plugins").iterdir()
    assert found.name == "gpugda-neo4j-plugin.jar"
    assert found.read_bytes() == jar
    assert found.stat().st_mode & 0o444 == 0o444
    assert "installed" in outcome.stderr
    assert "restart" in outcome.stderr
    assert "allowlist" not in outcome.stderr
    outcome = gpugda_command("plugin", "install", "--neo4j-home", str(tmp_path))
    assert "replaced" in outcome.stderr


@pytest.mark.parametrize(
    ("value", "told"), [("db.*, apoc.*", True), ("db.*,gpugda.*", False), ("*", False)]
)
def test_an_allowlist_without_the_plugin_is_warned_of(jar, gpugda_command, tmp_path, value, told):
    (tmp_path / "conf").mkdir()
    setting = f"# ours\ndbms.security.procedures.allowlist = {value}\n"
    (tmp_path / "conf" / "neo4j.conf").write_text(setting)
    outcome = gpugda_command("plugin", "install", "--neo4j-home", str(tmp_path))
    assert ("add gpugda.* to it" in outcome.stderr) == told


def test_a_folder_without_neo4j_is_refused(jar, gpugda_command, tmp_path):
    outcome = gpugda_command("plugin", "install", "--neo4j-home", str(tmp_path))
    assert outcome.exit_code == 2
    assert "no home of Neo4j" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_plugin_is_exported_to_a_file_or_folder(jar, gpugda_command, tmp_path):
    assert gpugda_command("plugin", "export", str(tmp_path / "x.jar")).exit_code == 0
    assert gpugda_command("plugin", "export", str(tmp_path)).exit_code == 0
    assert {each.name for each in tmp_path.iterdir()} == {"x.jar", "gpugda-neo4j-plugin.jar"}


def test_an_unwritable_target_is_an_error(jar, gpugda_command, tmp_path):
    outcome = gpugda_command("plugin", "export", str(tmp_path / "no" / "such" / "x.jar"))
    assert outcome.exit_code == 2
    assert "cannot be written" in outcome.stderr
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "gpugda-neo4j-plugin.jar").mkdir()
    outcome = gpugda_command("plugin", "export", str(tmp_path / "taken"))
    assert outcome.exit_code == 2
    assert len(list((tmp_path / "taken").iterdir())) == 1  # no partial file is left


def test_an_installation_without_the_jar_is_an_error(monkeypatch, gpugda_command, tmp_path):
    monkeypatch.setattr(plugin_jar, "JAR_NAME", "no-such.jar")
    outcome = gpugda_command("plugin", "export", str(tmp_path / "x.jar"))
    assert outcome.exit_code == 2
    assert "make plugin" in outcome.stderr


def test_the_plugin_has_the_packages_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pom = ElementTree.parse(ROOT / "adapters" / "neo4j_plugin" / "pom.xml")
    found = pom.find("{http://maven.apache.org/POM/4.0.0}version")
    assert found.text == project["version"]

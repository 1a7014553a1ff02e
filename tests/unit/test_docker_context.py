"""The context of the Docker images holds all files that the package's build reads."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_docker_context_holds_all_files_of_the_build():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in listed
    let_through = {line.removeprefix("!") for line in listed if line.startswith("!")}
    read = {"pyproject.toml", "setup.py", "README.md", *project["license-files"]}
    read |= {"gpugda", "adapters", "opencl", "strategies"}
    missing = {name for name in read if Path(name).parts[0] not in let_through}
    assert not missing
    assert all((ROOT / name).exists() for name in read)

"""What the Docker images are built of is all that the package's build reads."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_build_gets_all_that_it_reads():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in listed
    let_through = {line.removeprefix("!") for line in listed if line.startswith("!")}
    read = {"pyproject.toml", "setup.py", project["readme"], *project["license-files"]}
    read |= {"gpugda", "adapters", "opencl"}
    missing = {name for name in read if Path(name).parts[0] not in let_through}
    assert not missing
    assert all((ROOT / name).exists() for name in read)

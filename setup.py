"""Finds packages, also those installed under another name than their folder's, and addresses.

The repository's address is not written down: the workflow that publishes a release knows its own.
"""

import os
import re
from pathlib import Path

from setuptools import find_packages, setup

FOLDERS = {
    "gpugda": "gpugda",
    "gpugda_adapters": "adapters",
    "gpugda_opencl": "opencl",
    "gpugda_strategies": "strategies",
}
REPOSITORY = "/".join(
    filter(None, (os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")))
)
README = Path(__file__).with_name("README.md").read_text(encoding="utf-8")


def urls() -> dict[str, str]:
    """Addresses of the project; none outside of its workflows."""
    if not REPOSITORY:
        return {}
    return {
        "Source": REPOSITORY,
        "Documentation": f"{REPOSITORY}/blob/main/docs/index.md",
        "Changelog": f"{REPOSITORY}/blob/main/CHANGELOG.md",
        "Issues": f"{REPOSITORY}/issues",
    }


def readme() -> str:
    """The README; its links are absolute, so that they lead somewhere on other pages, too."""
    if not REPOSITORY:
        return README
    return re.sub(r"(?<=\]\()(?=[\w.]+[/)])", f"{REPOSITORY}/blob/main/", README)


setup(
    package_dir=FOLDERS,
    packages=[
        name
        for package, folder in FOLDERS.items()
        for name in (package, *(f"{package}.{each}" for each in find_packages(folder)))
    ],
    project_urls=urls(),
    long_description=readme(),
    long_description_content_type="text/markdown",
)

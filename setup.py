"""Finds all packages, also those that are installed under another name than their folder's."""

from setuptools import find_packages, setup

FOLDERS = {
    "gpugda": "gpugda",
    "gpugda_adapters": "adapters",
    "gpugda_opencl": "opencl",
    "gpugda_strategies": "strategies",
}

setup(
    package_dir=FOLDERS,
    packages=[
        name
        for package, folder in FOLDERS.items()
        for name in (package, *(f"{package}.{each}" for each in find_packages(folder)))
    ],
)

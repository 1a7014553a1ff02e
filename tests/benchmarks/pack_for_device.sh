#!/bin/sh
# Packs this checkout into a folder that runs without being installed: pack_for_device.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$1"
mkdir -p "$1/tests"
cp -r "$here/gpugda" "$1/gpugda"
cp -r "$here/opencl" "$1/gpugda_opencl"
cp -r "$here/adapters" "$1/gpugda_adapters"
cp -r "$here/tests/benchmarks" "$1/tests/benchmarks"
cp "$here"/tests/*.py "$1/tests/"
find "$1" -name __pycache__ -prune -exec rm -r {} +

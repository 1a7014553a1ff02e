# demo: the main job on an embedded graph; test: everything the machine can run; check: style, types, layers; bench: speed, answers checked.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test check bench clean
.DEFAULT_GOAL := demo

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("gpugda needs Python 3.11 or later; set PYTHON=" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/gpugda demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n $(WORKERS)

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p build/mypy && ln -sfn ../../gpugda build/mypy/gpugda && ln -sfn ../../adapters build/mypy/gpugda_adapters && ln -sfn ../../opencl build/mypy/gpugda_opencl
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.installed
	$(BIN)/python -m pytest tests/benchmarks -m perf --benchmark-enable --benchmark-columns=min,median,max -s

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache

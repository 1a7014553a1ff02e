# demo: the main job on an embedded graph; test: what a change needs, in minutes; test-all: every test; check: style, types, layers; bench: speed, answers checked (GPUGDA_BENCH=full: peers on all graphs).
# docs: the documentation's site in build/docs, every warning an error.
# plugin: the jar for Neo4j, which a wheel then holds; test-plugin: its own tests. Both need Maven and a JDK of 17 or later.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test test-all check bench docs docs-links plugin test-plugin clean
.DEFAULT_GOAL := demo

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("gpugda needs Python 3.11 or later; set PYTHON=" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/gpugda demo

# Else each process, and there are hundreds, compiles what it imports.
test test-all bench: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.installed
	$(BIN)/python -m pytest -n $(WORKERS) -m "not perf and not slow"

test-all: export HYPOTHESIS_PROFILE ?= ci
test-all: $(VENV)/.installed
	$(BIN)/python -m pytest -n $(WORKERS)

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p build/mypy && ln -sfn ../../gpugda build/mypy/gpugda && ln -sfn ../../adapters build/mypy/gpugda_adapters && ln -sfn ../../opencl build/mypy/gpugda_opencl
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.installed
	$(BIN)/python -m pytest tests/benchmarks -m perf --benchmark-enable --benchmark-columns=min,median,max -s

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -c 'import myst_nb, furo, sphinx_copybutton, neo4j_viz, pandas' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

docs: $(VENV)/.docs
	$(BIN)/python tools/support_table.py
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

docs-links: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b linkcheck docs build/docs-links

PLUGIN := adapters/neo4j_plugin

plugin: $(PLUGIN)/gpugda-neo4j-plugin.jar

$(PLUGIN)/gpugda-neo4j-plugin.jar: $(PLUGIN)/pom.xml $(shell find $(PLUGIN)/src/main -type f)
	mvn -q -B -f $(PLUGIN)/pom.xml package -DskipTests
	cp $(PLUGIN)/target/gpugda-neo4j-plugin.jar $@

test-plugin:
	mvn -q -B -f $(PLUGIN)/pom.xml test

clean:
	rm -rf $(VENV) $(PLUGIN)/target $(PLUGIN)/*.jar build dist .mypy_cache .ruff_cache .pytest_cache

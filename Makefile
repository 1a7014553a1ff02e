# demo: queries on an embedded graph; test: the tests for a change, in minutes; test-all: those of CI (HYPOTHESIS_PROFILE=thorough: every case); check: style, types, layers, and a table of sizes; bench: speed, with checked answers (GPUGDA_BENCH=full: other systems on all graphs).
# docs: the documentation's site in build/docs; warnings are errors.
# plugin: the jar for Neo4j, which wheels built afterwards contain; test-plugin: its tests. Both need Maven and a JDK, version 17 or later.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test test-all check bench docs docs-links plugin test-plugin clean
.DEFAULT_GOAL := demo

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("gpugda needs Python 3.11 or later; set PYTHON=" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/gpugda demo

# Otherwise each of hundreds of processes compiles the modules that it imports.
test test-all bench: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.installed
	$(BIN)/python -m pytest -n $(WORKERS) -m "not perf and not slow"

test-all: export HYPOTHESIS_PROFILE ?= ci
test-all: $(VENV)/.installed
	$(BIN)/python -m pytest -n $(WORKERS) $(if $(filter thorough,$(HYPOTHESIS_PROFILE)),,-m "not perf and not thorough")

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p build/mypy && ln -sfn ../../gpugda build/mypy/gpugda && ln -sfn ../../adapters build/mypy/gpugda_adapters && ln -sfn ../../opencl build/mypy/gpugda_opencl && ln -sfn ../../strategies build/mypy/gpugda_strategies && ln -sfn ../../lab build/mypy/lab
	$(BIN)/mypy
	$(BIN)/mypy tests/user_program.py  # what types users see
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/sizes.py

bench: $(VENV)/.installed
	$(BIN)/python -m pytest tests/benchmarks -m perf --benchmark-enable --benchmark-columns=min,median,max -s

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -c 'import myst_nb, furo, sphinx_copybutton, neo4j_viz, pandas' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group docs
	@touch $@

docs: $(VENV)/.docs
	$(BIN)/python tools/support_table.py
	$(BIN)/python tools/function_table.py
	$(BIN)/python tools/result_drawing.py
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

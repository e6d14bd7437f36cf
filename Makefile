PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-demo
DOCS_STAMP := $(VENV)/.installed-docs
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: setup demo test quick fuzz lint docs bench clean

setup: $(STAMP)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml | $(BIN)/python
	$(PIP) -e ".[plot,docs,test]"
	touch $(STAMP) $(DEMO_STAMP) $(DOCS_STAMP)

# The demo needs less than the tests, and starts sooner for it.
$(DEMO_STAMP): pyproject.toml | $(BIN)/python
	$(PIP) -e ".[plot]"
	touch $(DEMO_STAMP)

demo: $(DEMO_STAMP)
	$(BIN)/tailwise demo

$(DOCS_STAMP): pyproject.toml | $(BIN)/python
	$(PIP) -e ".[docs]"
	touch $(DOCS_STAMP)

docs: $(DOCS_STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "The pages are in docs/_build/html/index.html"

lint: setup
	$(BIN)/ruff check src tests benchmarks docs examples
	$(BIN)/ruff format --check src tests benchmarks docs examples
	$(BIN)/mypy

# Test files are shared out to a process for each core; the tests of one file stay together, for they share fixtures.
PYTEST := $(BIN)/pytest -n auto --dist loadfile

test: lint
	$(PYTEST) src tests
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/numba-boundscheck $(PYTEST) tests -m boundscheck

# What to run before every commit: a minute, once kernels are compiled.
quick: setup
	$(PYTEST) src tests -m "not slow"

# Random problems against a plain reference, on all cores, as long as you like: make fuzz MINUTES=30 SEED=1
MINUTES ?= 5
SEED ?= 0

fuzz: setup
	cd tests && $(abspath $(BIN))/python -m fuzz.run --minutes $(MINUTES) --seed $(SEED)

bench: setup
	$(BIN)/python benchmarks/run.py --markdown benchmarks-figures.md

clean:
	rm -rf $(VENV) .venv-peers docs/_build

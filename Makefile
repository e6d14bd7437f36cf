PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-demo
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: setup demo test lint bench clean

setup: $(STAMP)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml | $(BIN)/python
	$(PIP) -e ".[plot,test]"
	touch $(STAMP) $(DEMO_STAMP)

# The demo needs less than the tests, and starts sooner for it.
$(DEMO_STAMP): pyproject.toml | $(BIN)/python
	$(PIP) -e ".[plot]"
	touch $(DEMO_STAMP)

demo: $(DEMO_STAMP)
	$(BIN)/tailwise demo

lint: setup
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

test: lint
	$(BIN)/pytest src tests
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/numba-boundscheck $(BIN)/pytest tests -m boundscheck

bench: setup
	$(BIN)/python benchmarks/run.py --markdown benchmarks-figures.md

clean:
	rm -rf $(VENV) .venv-peers

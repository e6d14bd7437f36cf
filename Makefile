PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-demo
DOCS_STAMP := $(VENV)/.installed-docs
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Tests start many processes, which should share the byte code instead of compiling the sources again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo test tested checked test-oldest quick fuzz lint compiled compiled-checked docs bench wheel clean

setup: $(STAMP)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml | $(BIN)/python
	$(PIP) -e ".[plot,docs,test]"
	touch $(STAMP) $(DEMO_STAMP) $(DOCS_STAMP)

# The demo needs fewer packages than the tests, so it starts sooner.
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
	$(BIN)/ruff check src tests benchmarks docs examples wheels
	$(BIN)/ruff format --check src tests benchmarks docs examples wheels
	$(BIN)/mypy

# Test files are distributed over one process per core, the longest first (tests/conftest.py); the tests of one file
# stay together, because they share fixtures.
# Kernels are compiled first; otherwise every process would compile them.
PYTEST = $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder
COMPILE = $(BIN)/python tests/warm_up.py
CHECKED := NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/numba-boundscheck
CHECKED_LOG := $(VENV)/boundscheck.log

BOUNDSCHECK = $(shell grep -rl --include='test_*.py' mark.boundscheck tests)

# Beside the tests, on what they leave of the cores: lint, and the kernels again with bounds checks.
test: setup
	$(MAKE) --jobs=2 tested checked

tested: compiled
	$(PYTEST) src tests

checked: setup
	nice $(MAKE) lint compiled-checked
	@$(CHECKED) nice $(PYTEST) $(BOUNDSCHECK) -m "boundscheck and not repeated" > $(CHECKED_LOG) 2>&1 || \
		{ cat $(CHECKED_LOG); exit 1; }
	@echo "With bounds checks: $$(tail -n 1 $(CHECKED_LOG))"

compiled: setup
	$(COMPILE)

compiled-checked: setup
	$(CHECKED) $(COMPILE)

# What to run before every commit: a minute, once kernels are compiled.
quick: setup
	$(PYTEST) src tests -m "not slow and not repeated"

# The tests with the oldest Python and the oldest packages that pyproject.toml allows, in an environment of their own.
# Old packages use what newer ones that they depend on call deprecated.
OLDEST_PYTHON ?= python3.10
OLDEST_VENV := .venv-oldest

test-oldest: BIN := $(OLDEST_VENV)/bin
test-oldest: $(OLDEST_VENV)/.installed
	$(COMPILE)
	$(PYTEST) src tests -m "not repeated" -W ignore::DeprecationWarning

$(OLDEST_VENV)/.installed: pyproject.toml
	$(OLDEST_PYTHON) -m venv --clear $(OLDEST_VENV)
	sed -n '/^dependencies/,$$s/"\([a-z0-9-]*\)>=\([0-9.]*\)"/\n\1==\2\n/gp' pyproject.toml | grep == > $(OLDEST_VENV)/oldest.txt
	$(PIP) -c $(OLDEST_VENV)/oldest.txt -e ".[plot,docs,test]"
	touch $@

# Random problems against a plain reference, on all cores, as long as you like: make fuzz MINUTES=30 SEED=1
MINUTES ?= 5
SEED ?= 0

fuzz: setup
	cd tests && $(abspath $(BIN))/python -m fuzz.run --minutes $(MINUTES) --seed $(SEED)

bench: setup
	$(BIN)/python benchmarks/run.py --markdown benchmarks-figures.md

# With compiled code inside, for this system and these versions of Python and Numba: dist/tailwise-*.whl
wheel: setup
	$(BIN)/python wheels/build.py

clean:
	rm -rf $(VENV) $(OLDEST_VENV) .venv-peers docs/_build build dist

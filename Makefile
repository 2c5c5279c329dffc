# All set-up happens here: every target works in a fresh clone with only Python (>= 3.11) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: demo test check bench docs wheel-test clean

# The stamps make a second call instant; a change of the declared dependencies sets up anew.
$(VENV)/.run: pyproject.toml $(wildcard setup.py src/speedproof/mixture/*.c)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "speedproof needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov --cov-report=term

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info

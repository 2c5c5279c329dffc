# All set-up happens here: every target works in a fresh clone with only Python (>= 3.11) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: demo test check bench docs wheel-test clean

# The stamps make a second call instant; a change of the declared dependencies sets up anew.
$(VENV)/.run: pyproject.toml $(wildcard setup.py src/speedproof/mixture/*.[ch])
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "speedproof needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov --cov-report=term

demo: $(VENV)/.run
	$(BIN)/speedproof compare examples/gcc/O2.json examples/gcc/O3.json

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.dev
	test -f $(VENV)/.docs || $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

# The wheel that users get, in an empty environment: the tree's own files must not be what makes it work.
wheel-test: $(VENV)/.dev
	rm -rf build/wheel-test && mkdir -p build/wheel-test
	$(BIN)/python -m build --wheel --outdir build/wheel-test . > build/wheel-test/log 2>&1 || (cat build/wheel-test/log; exit 1)
	$(PYTHON) -m venv build/wheel-test/venv
	build/wheel-test/venv/bin/python -m pip install --quiet --disable-pip-version-check build/wheel-test/*.whl
	cp -r examples/gcc build/wheel-test/data
	cd build/wheel-test/data && ../venv/bin/speedproof compare O2.json O3.json > ../out.txt
	grep -q '^O3 against O2: time' build/wheel-test/out.txt

bench: $(VENV)/.dev
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info

# All set-up happens here: every target works in a fresh clone with only Python (>= 3.11) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
PIP = -m pip install --quiet --no-compile --disable-pip-version-check
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# Versions that a development environment gets: `make constraints` renews them, `make newest` goes without.
CONSTRAINTS ?= constraints/dev.txt
# What is installed is compiled when it is first imported, and not anew each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all coverage random validation scheduled check bench docs sanitize seeds wheel wheel-test lowest lowest-quick newest pythons constraints clean

# The stamps make a second call instant; a change of the declared dependencies sets up anew. The pip that comes
# with an old Python takes twice as long as a new one.
$(VENV)/.run: pyproject.toml $(wildcard setup.py src/speedproof/*/_*.[ch])
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "speedproof needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) --upgrade pip
	$(BIN)/python $(PIP) -c $(CONSTRAINTS) -e .
	touch $@

# speedproof itself is installed by now, so that its kernels are compiled once.
$(VENV)/.dev: $(VENV)/.run $(CONSTRAINTS)
	$(BIN)/python $(PIP) -c $(CONSTRAINTS) 'speedproof[dev]'
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python $(PIP) -c $(CONSTRAINTS) 'speedproof[docs]'
	touch $@

# In minutes: everything but what is marked slow (`@pytest.mark.slow`, tests/validation).
test: $(VENV)/.dev
	$(PYTEST) -m "not slow"

test-all: $(VENV)/.dev
	$(PYTEST)

# The same with what it covers, branch by branch: no part of the gate, which it would make longer.
coverage: $(VENV)/.dev
	$(PYTEST) --cov --cov-report=term

# Other examples than the gate's, and the tests in another order (make prints its seed): for a schedule, not for a gate.
random: $(VENV)/.dev
	$(PYTEST) --hypothesis-profile random --shuffle $(shell date +%s) -m "not slow"

# The simulations at their full size.
validation: $(VENV)/.dev
	$(PYTEST) --full tests/validation

# All that is too long for the gate: every night, say.
scheduled: random validation sanitize lowest newest pythons

demo: $(VENV)/.run
	$(BIN)/speedproof compare examples/gcc/O2.json examples/gcc/O3.json

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

# The wheel that users get.
WHEEL := build/wheel
wheel: $(VENV)/.run
	rm -rf $(WHEEL) build/lib* build/temp*
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(WHEEL) .

# In an empty environment: the tree's own files must not be what makes it work.
wheel-test: wheel
	rm -rf build/wheel-test && mkdir -p build/wheel-test
	$(PYTHON) -m venv build/wheel-test/venv
	build/wheel-test/venv/bin/python $(PIP) $(WHEEL)/*.whl
	cp -r examples/gcc build/wheel-test/data
	cd build/wheel-test/data && ../venv/bin/speedproof compare O2.json O3.json > ../out.txt
	grep -q '^O3 against O2' build/wheel-test/out.txt

# Every pair (name, interpreter, constraints) is an environment of its own in which the fast tests pass.
define environment
	test -x .venv-$(1)/bin/python || $(2) -m venv .venv-$(1)
	.venv-$(1)/bin/python $(PIP) --upgrade pip
	.venv-$(1)/bin/python $(PIP) $(if $(3),-c $(3)) "$$(echo $(WHEEL)/*.whl)[test]"
	PYTHONPATH=src .venv-$(1)/bin/python -m pytest -q -n $(JOBS) --dist worksteal -m "not slow" -p no:cacheprovider $(DECIDE)
endef

# The oldest versions that pyproject.toml allows.
lowest: wheel
	$(call environment,lowest,$(PYTHON),constraints/lowest.txt)

# What of the tests exercises numerics, formats and the command line: for the gate, where time is short.
DECISIVE := tests/test_project.py tests/data_model tests/stats/test_special.py tests/stats/test_rank_and_t_tests.py \
  tests/stats/test_signed_rank.py tests/stats/test_superiority.py tests/mixture/test_fit.py tests/mixture/test_em.py \
  tests/formats/test_json_tools.py tests/formats/test_small_files.py tests/protocols/test_compare.py \
  tests/protocols/test_hpt.py tests/cli/test_compare.py tests/cli/test_gate.py tests/cli/test_extremes.py \
  src/speedproof/mixture
lowest-quick: DECIDE := $(DECISIVE)
lowest-quick: lowest

newest: wheel
	$(call environment,newest,$(PYTHON),)

# The other versions of Python that are there (pyenv, apt, uv: whatever puts python3.X on the path).
pythons:
	for version in 3.12 3.13 3.14; do \
	  if python$$version -c "" 2> /dev/null; then $(MAKE) on-$$version || exit 1; else echo "no Python $$version here"; fi; \
	done

on-%: wheel
	$(call environment,$*,python$*,)

constraints: $(VENV)/.dev
	$(BIN)/python constraints/renew.py

bench: $(VENV)/.dev
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# The compiled kernels under the address and undefined-behaviour sanitisers (gcc).
SANITIZED := build/sanitize
sanitize: $(VENV)/.dev
	mkdir -p $(SANITIZED)
	for kernels in formats/_go measuring/_start mixture/_em stats/_levels stats/_merging stats/_scores; do \
	  gcc -std=c11 -O0 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	    -ffp-contract=off -fPIC -shared -DPy_LIMITED_API=0x030B0000 \
	    -I$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('include'))") \
	    src/speedproof/$$kernels.c -o $(SANITIZED)/$$(basename $$kernels).abi3.so -lm || exit 1; done
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	  $(BIN)/python tests/sanitize.py $(SANITIZED)

# The papers' experiments beside speedproof's results: make seeds SEEDS="--full --data DIR".
seeds: $(VENV)/.dev
	$(BIN)/python -m studies.seeds $(SEEDS)

clean:
	rm -rf $(VENV) .venv-* build dist *.egg-info src/*.egg-info

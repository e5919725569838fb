# Each target creates what it needs and is quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH := .venv-bench
PIP := -m pip --disable-pip-version-check

.PHONY: help demo test lint bench docs clean chromium

help:
	@echo "make demo   install, run the study that ships into runs/demo, end with its report"
	@echo "make test   lint + types + layer contract + all tests"
	@echo "make lint   the first three alone"
	@echo "make bench  ours beside the peers, with ratios"
	@echo "make docs   build the documentation into site/"
	@echo "make clean  remove everything that can be made again"

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) install -q --constraint constraints.txt torch==$$(sed -n 's/^torch==//p' constraints.txt)
	$(BIN)/python $(PIP) install -q --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/sightline demo

test: lint chromium
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

# The page of a report is tested in a browser; without one these tests are left out.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; \
	else echo "Chromium is not installed: reports are not tested in a browser (Debian: apt install chromium)"; fi \
	|| echo "Chromium could not be installed: reports are not tested in a browser"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

$(BENCH)/.installed: benchmarks/requirements.txt benchmarks/requirements-no-deps.txt $(STAMP)
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(PIP) install -q --constraint constraints.txt torch==$$(sed -n 's/^torch==//p' constraints.txt)
	$(BENCH)/bin/python $(PIP) install -q --constraint constraints.txt --requirement benchmarks/requirements.txt --editable '.[models]'
	$(BENCH)/bin/python $(PIP) install -q --no-deps --requirement benchmarks/requirements-no-deps.txt
	touch $@

bench: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.maps
	$(BENCH)/bin/python -m benchmarks.detection
	$(BENCH)/bin/python -m benchmarks.methods

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The pages are in site/index.html"

clean:
	rm -rf $(VENV) $(BENCH) site runs/demo runs/photos dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each target creates what it needs and is quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH := .venv-bench
AUDIT := .venv-audit
PIP := -m pip --disable-pip-version-check
# What is compiled once is kept, whatever the shell says.
KEEP := PYTHONDONTWRITEBYTECODE=
PYTEST := $(KEEP) $(BIN)/python -m pytest -q
APP := src/sightline/api/static/index.html
APP_PARTS := $(shell find web -type f -not -path '*/node_modules/*' 2>/dev/null)
NODE := $(shell command -v npm 2>/dev/null)
NPM := --no-audit --no-fund --prefer-offline
NO_NODE := Node 20.19 or newer is not installed (https://nodejs.org): the web app is not built

.PHONY: help demo test lint audit bench docs clean chromium pytest web web-if-node web-test wheel

help:
	@echo "make demo   install, run the study that ships into runs/demo, end with its report"
	@echo "make web    build the web app that \`sightline serve\` shows (needs Node)"
	@echo "make test   lint + types + layer contract + all tests, the app's in a browser too"
	@echo "make lint   the first three alone, and whether every package is pinned"
	@echo "make audit  known weaknesses of these packages (asks PyPI)"
	@echo "make bench  ours beside the peers, with ratios"
	@echo "make docs   build the documentation into site/"
	@echo "make wheel  build the wheel, with the web app in it, into dist/ (needs Node)"
	@echo "make clean  remove everything that can be made again"

# Of the 20,000 modules a few thousand are ever used: these are compiled when they are, which
# takes half as long as compiling all.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) install -q --no-compile --constraint constraints.txt torch==$$(sed -n 's/^torch==//p' constraints.txt)
	$(BIN)/python $(PIP) install -q --no-compile --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(STAMP) web-if-node
	$(KEEP) $(BIN)/sightline demo
	@if [ -f $(APP) ]; then echo "Look at it in a browser: $(BIN)/sightline serve runs/demo"; fi

# Packages beside the app and the browser, then the linters beside the tests.
test:
	@$(MAKE) --no-print-directory -j3 --output-sync $(STAMP) chromium web-test lint pytest

# Three workers keep two cores busy; more get in each other's way. The plus has what they say
# shown as it comes.
pytest: $(STAMP) web-test chromium
	+$(PYTEST) --workers 3

# Some machines need native parts that the lock file, written on another, does not name: `npm ci`
# refuses it there, and `npm install` takes what it names and adds these, without changing it.
web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && { npm ci $(NPM) || npm install --no-save $(NPM); }
	touch $@

$(APP): web/node_modules/.package-lock.json $(APP_PARTS)
	cd web && npm run build

web:
	@if [ -z "$(NODE)" ]; then echo "$(NO_NODE)"; exit 1; fi
	@$(MAKE) --no-print-directory $(APP)

web-if-node:
	@if [ -n "$(NODE)" ]; then $(MAKE) --no-print-directory web; else echo "$(NO_NODE)"; fi

# The app is built, since the tests in a browser use it; in CI a missing Node is a failure.
web-test:
	@if [ -n "$(NODE)" ]; then $(MAKE) --no-print-directory web && cd web && npm run check && npm test; \
	else echo "$(NO_NODE) and not tested"; [ -z "$$CI" ]; fi

# Reports and the app are tested in a browser; without one these tests are left out. The shell,
# which has no windows, does with a quarter of the processor's time what Chromium does.
chromium:
	@command -v chromium-headless-shell >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium-headless-shell; \
	else false; fi >/dev/null \
	|| command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	|| echo "Chromium is not installed: reports and the app are not tested in a browser (Debian: apt install chromium-headless-shell)"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python $(PIP) check
	$(BIN)/python .ci/packages.py

# Where PyPI's data base cannot be asked, it says so and fails: no answer is not a good one.
audit: $(AUDIT)/.installed
	$(AUDIT)/bin/python .ci/packages.py --audit $(AUDIT)/bin/pip-audit

$(AUDIT)/.installed:
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python $(PIP) install -q pip-audit
	touch $@

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
	$(BENCH)/bin/python -m benchmarks.sanity

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The pages are in site/index.html"

# hatch_build.py builds the app into the wheel, or says why it cannot and fails.
wheel: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --sdist --wheel --outdir dist >/dev/null
	@cd dist && wc -c * | awk '$$2 != "total" {printf "dist/%s: %.1f MB\n", $$2, $$1 / 1e6}'

clean:
	rm -rf web/node_modules src/sightline/api/static
	rm -rf $(VENV) $(BENCH) $(AUDIT) site runs/demo runs/photos dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

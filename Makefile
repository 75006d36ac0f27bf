# Each target makes what it needs. `make help` lists them.

SHELL   := /bin/bash
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
DEV     := $(VENV)/.installed-dev
CONSOLE := src/trunkline/console/index.html
MODULES := console/node_modules/.package-lock.json
SOURCES := $(shell find console -name node_modules -prune -o -type f ! -name '*.test.*' \
             ! -name openapi.json ! -name 'package*.json' -print 2>/dev/null)
QUICK   := $(addprefix tests/,model pipelines test_settings.py test_surface.py)
AGAIN   := Once more, alone: what passes now is unsteady, and to be mended.
NPM      = node=$$(scripts/node.sh) && cd console && PATH="$$node:$$PATH" npm

.DEFAULT_GOAL := help
.PHONY: help install console demo quick test check format bench docs site clean java browser

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) java ## make .venv with the command at .venv/bin/trunkline (and tl)

console: $(CONSOLE) ## build the console, with a Node.js from PyPI if there is none

demo: $(STAMP) java ## show the lake at work, in a temporary folder, and the console on it
	@if scripts/node.sh --found >/dev/null; then \
	   $(MAKE) -s -o $(STAMP) console || echo "The console could not be built; the demo goes on without it."; \
	 else echo "There is no Node.js 20.19 or newer here, so there is no console: make console"; fi
	@$(BIN)/trunkline demo $(ARGS)

quick: $(DEV) ## run the tests of every save: pure and in-process, in under a minute
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile $(QUICK) $(ARGS)

test: $(DEV) java $(CONSOLE) browser ## run the tests but those marked slow; ALL=1 with them
	@$(NPM) test --silent
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(if $(ALL)$(ARGS),,-m 'not slow') $(ARGS) || \
	  { test $$? = 1 && test -n "$$CI" && echo "$(AGAIN)" && \
	    $(BIN)/python -m pytest -v --last-failed --last-failed-no-failures none $(ARGS); }

check: $(DEV) $(MODULES) ## ruff, mypy --strict, import-linter; tsc and biome; the site of the docs
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(NPM) run check --silent
	@$(MAKE) -s site

format: $(DEV) $(MODULES) ## let ruff and biome arrange the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(NPM) run format --silent

bench: $(DEV) java ## measure what we answer for, as ratios
	@$(BIN)/python -m benchmarks $(ARGS)

docs: $(DEV) $(MODULES) ## write what is made from the code: reference pages, man page, the console's types
	@$(BIN)/python -m trunkline.pipelines.spec.schema
	@$(BIN)/python -m tests.docs.generate_cli
	@$(BIN)/python -m tests.docs.generate_spec
	@$(BIN)/python -m tests.docs.generate_man
	@$(BIN)/python -m tests.docs.generate_api
	@$(BIN)/python -m tests.docs.generate_openapi
	@$(NPM) run types --silent

site: $(DEV) ## build the documentation as a site into build/site (ARGS=serve shows it)
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/mkdocs --quiet $(or $(ARGS),build)

clean: ## remove .venv, the built console and every cache
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@rm -rf console/node_modules $(dir $(CONSOLE))
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

browser: | java # the console's tests look at it
	@scripts/browser.sh >/dev/null

$(CONSOLE): $(SOURCES) $(MODULES)
	@echo "Building the console."
	@said=$$($(NPM) run build 2>&1) || { echo "$$said"; exit 1; }
	@touch $@

$(MODULES): console/package-lock.json | $(STAMP)
	@said=$$($(NPM) install --no-save 2>&1) || { echo "$$said"; exit 1; }
	@touch $@

java: $(STAMP) # Spark runs on it; an old one, or one without Spark's modules, does not count
	@$(BIN)/python -c 'from trunkline.engine.java import find_java; find_java()' 2>/dev/null || scripts/java.sh

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "error: Trunkline needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>/dev/null || echo missing)"; \
	    echo "hint: make install PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "error: '$(PYTHON)' cannot make virtual environments"; \
	    echo "hint: install its venv module (on Debian and Ubuntu: apt install python3-venv)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@scripts/packages.sh -e . -c constraints.txt
	@touch $@

$(DEV): $(STAMP) # what tests and checks need beside
	@scripts/packages.sh -e '.[dev]' -c constraints.txt
	@touch $@

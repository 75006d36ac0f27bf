# Each target makes what it needs. `make help` lists them.

SHELL   := /bin/bash
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test check format bench docs clean java

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) java ## make .venv with the command at .venv/bin/trunkline (and tl)

demo: $(STAMP) java ## show the lake at work, in a temporary folder
	@$(BIN)/trunkline demo

test: $(STAMP) java ## run the tests, the quick ones first
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

check: $(STAMP) ## ruff, mypy --strict, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMP) ## let ruff arrange the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(STAMP) java ## measure what we answer for, as ratios
	@$(BIN)/python -m benchmarks $(ARGS)

docs: $(STAMP) ## write docs/cli.md from --help, and the routes of docs/api.md
	@$(BIN)/python -m tests.docs.generate_cli
	@$(BIN)/python -m tests.docs.generate_api

clean: ## remove .venv and every cache
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

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
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	@touch $@

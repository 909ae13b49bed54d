# A checkout, Python 3.11 or newer and make are all that is needed: the rest is installed here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test check format clean

help:  ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "crlm needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[test]'
	@touch $@

demo: $(READY)  ## clusters in 95 % background, then real faces; pictures and a report
	@$(BIN)/crlm demo --quiet
	@echo
	@$(BIN)/crlm demo faces

check: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check  ## everything that must hold before a change lands
	$(BIN)/python -m pytest --numprocesses 2

format: $(READY)  ## mend what can be mended by machine
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what was made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis crlm-demo.png crlm-demo-faces.png crlm-demo-faces.html

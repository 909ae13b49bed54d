# A checkout, Python 3.11 or newer and make are all that is needed: the rest is installed here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test check browser format wheel clean

help:  ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt hatch_build.py $(wildcard src/crlm/search/*.[ch])
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

test: check browser  ## everything that must hold before a change lands
	$(BIN)/python -m pytest --numprocesses 2

# The tests of the page drive Debian's Chromium and Node; without them they are skipped.
browser:
	@if ! command -v chromium >/dev/null || ! command -v node >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
				apt-get install -qq -y --no-install-recommends chromium nodejs >/dev/null; } || \
				echo "chromium or node could not be installed; tests of the page are skipped"; \
		else echo "no chromium or node; tests of the page are skipped"; fi; fi

format: $(READY)  ## mend what can be mended by machine
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel:  ## build the wheel of what is committed, install it in an empty environment, use it
	PYTHON=$(PYTHON) .ci/wheel

clean:  ## remove what was made
	rm -rf $(VENV) src/crlm/search/_kernel.so build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis crlm-demo.png crlm-demo-faces.png crlm-demo-faces.html

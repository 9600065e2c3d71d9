# `make demo` and `make test` need Python 3.11 or newer, and nothing installed beforehand.
#
#   make test ARGS="-k pagerank"     more arguments for pytest
#   make demo PYTHON=python3.12      another Python than python3
#   make gpu-test CUDA=cu12          another CUDA than 13

PYTHON ?= python3
CUDA ?= cu13
ARGS ?=
VENV := .venv

.DEFAULT_GOAL := help
.PHONY: help demo test gpu-test benchmark lint format clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed-run  ## install and take a tour; needs no GPU and no data
	@$(VENV)/bin/rapidsgraph demo

test: $(VENV)/.installed-test  ## the tests that need no GPU (ARGS="-k pagerank" for some of them)
	@$(VENV)/bin/python -m pytest -q $(ARGS)

gpu-test: $(VENV)/.installed-$(CUDA)  ## every test, the ones on the GPU too
	@$(VENV)/bin/python -m pytest -q --gpu $(ARGS)

benchmark: $(VENV)/.installed-benchmark  ## time algorithms and builds on the CPU, beside other libraries
	@$(VENV)/bin/python pipelines/benchmarks/pagerank.py --device cpu $(ARGS)
	@$(VENV)/bin/python pipelines/benchmarks/build.py --device cpu $(ARGS)
	@$(VENV)/bin/python pipelines/benchmarks/traversal.py --device cpu $(ARGS)
	@$(VENV)/bin/python pipelines/benchmarks/scan.py --device cpu $(ARGS)
	@$(VENV)/bin/python pipelines/benchmarks/layers.py --device cpu $(ARGS)

lint: $(VENV)/.installed-dev  ## check style and formatting, change nothing
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check . || { echo "Run 'make format' to repair this."; exit 1; }

format: $(VENV)/.installed-dev  ## repair style and formatting
	@$(VENV)/bin/ruff check --fix .
	@$(VENV)/bin/ruff format .

clean:  ## remove the virtual environment and everything built
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find rapidsgraph pipelines tests -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp for each set of extras. The stamps live in the environment, so they go when it goes.
$(VENV)/.installed-run: extras :=
$(VENV)/.installed-test: extras := [test]
$(VENV)/.installed-dev: extras := [dev]
$(VENV)/.installed-benchmark: extras := [benchmark]
$(VENV)/.installed-cu12: extras := [test,cu12]
$(VENV)/.installed-cu13: extras := [test,cu13]

$(VENV)/.installed-%: pyproject.toml $(VENV)/pyvenv.cfg
	@echo "Installing rapidsgraph$(extras) into $(VENV) (the first time takes a few minutes)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.$(extras)' \
	|| { echo "The installation failed; pip says why above. Without a network connection nothing"; \
	     echo "can be downloaded. Otherwise 'make clean' and the same command start afresh."; \
	     exit 1; }
	@touch $@

# Debian and Ubuntu ship Python without ensurepip, which makes environments; it is asked for first,
# because venv itself would leave a broken folder behind.
$(VENV)/pyvenv.cfg:
	@command -v $(PYTHON) >/dev/null \
	|| { echo "There is no '$(PYTHON)'. Install Python 3.11 or newer, or name one:"; \
	     echo "  make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "rapidsgraph needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version)."; \
	     echo "Where a newer one is installed, name it: make $(MAKECMDGOALS) PYTHON=python3.12"; \
	     exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	|| { echo "Python's venv module is missing. Install it, then run make again:"; \
	     echo "  apt install $(notdir $(PYTHON))-venv"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)

# An environment of ours no longer runs when this folder is moved or the system's Python replaced.
ifneq ($(wildcard $(VENV)/.installed-*),)
ifneq ($(shell $(VENV)/bin/pip --version >/dev/null 2>&1 || echo broken),)
.PHONY: $(VENV)/pyvenv.cfg
endif
endif

# `make demo` and `make test` need Python 3.11 or newer, and nothing installed beforehand.
#
#   make test ARGS="-k pagerank"     more arguments for pytest
#   make test JOBS=0                 in one process, as a debugger wants it
#   make demo PYTHON=python3.12      another Python than python3
#   make gpu-test CUDA=cu12          another CUDA than 13

PYTHON ?= python3
CUDA ?= cu13
ARGS ?=
JOBS ?= 2
VENV := .venv
# Files that GitHub and Read the Docs interpret, by the name of their schema.
SCHEMAS := 'github-workflows=.github/workflows/*.yml' 'dependabot=.github/dependabot.yml' \
    'github-issue-forms=.github/ISSUE_TEMPLATE/*_*.yml' \
    'github-issue-config=.github/ISSUE_TEMPLATE/config.yml' 'readthedocs=.readthedocs.yaml'

# Without cached bytecode, the assertions of all tests are rewritten again for every process.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo setup check test gpu-test benchmark docs package docker-test lint types imports format clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed-run  ## install and take a tour; needs no GPU and no data
	@$(VENV)/bin/rapidsgraph demo

setup: $(VENV)/.installed-dev  ## install what development needs into .venv, and the hooks of Git
	@[ ! -e .git ] || $(VENV)/bin/pre-commit install

check: lint types imports  ## what to run before a commit: style, types, imports and the fast tests
	@$(VENV)/bin/python -m pytest -q -n $(JOBS) --dist worksteal -m "not slow and not gpu" $(ARGS)

# A test that hangs ends the run, and leaves the traceback of every thread.
test: $(VENV)/.installed-test  ## the tests that need no GPU (ARGS="-k pagerank" for some of them)
	@$(VENV)/bin/python -m pytest -q -n $(JOBS) --dist worksteal --max-worker-restart 0 \
	    -o faulthandler_timeout=300 -o faulthandler_exit_on_timeout=true $(ARGS)

gpu-test: $(VENV)/.installed-$(CUDA)  ## every test, the ones on the GPU too
	@$(VENV)/bin/python -m pytest -q --gpu $(ARGS)

benchmark: $(VENV)/.installed-benchmark  ## time algorithms and builds on the CPU, beside other libraries
	@$(VENV)/bin/python pipelines/benchmarks/run.py --device cpu $(ARGS)

docs: $(VENV)/.installed-docs  ## build the documentation site as build/docs/index.html
	@$(VENV)/bin/python -m sphinx --builder html --fresh-env --jobs 2 --fail-on-warning --keep-going \
	    --quiet --doctree-dir build/doctrees docs build/docs $(ARGS)

package: $(VENV)/.installed-dev  ## build wheel and sdist into dist/, install and run both elsewhere
	@docker/test_release.sh $(VENV)/bin/python

docker-test:  ## build the container image, run it, and a cluster of it
	@docker/test.sh $(ARGS)

lint: $(VENV)/.installed-dev  ## check style and formatting, change nothing
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check . || { echo "Run 'make format' to repair this."; exit 1; }
	@$(VENV)/bin/clang-format --dry-run -Werror rapidsgraph/kernels/*.cu*
	@[ ! -d .github ] || for files in $(SCHEMAS); do \
	  report=$$($(VENV)/bin/check-jsonschema --builtin-schema vendor.$${files%%=*} $${files#*=}) \
	  || { echo "$$report"; exit 1; }; done

types: $(VENV)/.installed-dev  ## check type annotations
	@$(VENV)/bin/python -m mypy --no-error-summary

imports: $(VENV)/.installed-dev  ## check that imports point down and have no cycles
	@$(VENV)/bin/lint-imports --no-cache --no-logo

format: $(VENV)/.installed-dev  ## repair style and formatting
	@$(VENV)/bin/ruff check --fix .
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/clang-format -i rapidsgraph/kernels/*.cu*

clean:  ## remove the virtual environment and everything built
	rm -rf $(VENV) build dist docs/api/generated *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find rapidsgraph pipelines tests -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp for each set of extras. The stamps live in the environment, so they go when it goes.
$(VENV)/.installed-run: extras :=
$(VENV)/.installed-test: extras := [test]
$(VENV)/.installed-dev: extras := [dev]
$(VENV)/.installed-docs: extras := [docs]
$(VENV)/.installed-ci: extras := [dev,docs]
$(VENV)/.installed-benchmark: extras := [benchmark]
$(VENV)/.installed-cu12: extras := [test,cu12]
$(VENV)/.installed-cu13: extras := [test,cu13]

$(VENV)/.installed-%: pyproject.toml $(VENV)/pyvenv.cfg
	@echo "Installing rapidsgraph$(extras) into $(VENV) (the first time takes a few minutes)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.$(extras)' \
	|| { echo "The installation failed; pip says why above. Without a network connection nothing"; \
	     echo "can be downloaded. $(VENV) takes 0.6 GB of disk for the demo, 1.3 GB for the tests, and"; \
	     echo "6 GB with those of a GPU. For a new release of Python there may be no packages yet: name"; \
	     echo "another by PYTHON=. 'make clean' and the same command start afresh."; exit 1; }
	@touch $@

# Debian and Ubuntu ship Python without ensurepip, which makes environments; it is asked for first,
# because venv itself would leave a broken folder behind.
$(VENV)/pyvenv.cfg:
	@[ -w . ] || { echo "This folder cannot be written to, and $(VENV) has to be made in it."; \
	               echo "Copy it to a folder of yours and run make there."; exit 1; }
	@command -v $(PYTHON) >/dev/null \
	|| { echo "There is no '$(PYTHON)'. Install Python 3.11 or newer, or name the one that is there:"; \
	     echo "  apt install python3 python3-venv"; \
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

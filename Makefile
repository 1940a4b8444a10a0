# Every target sets itself up: `make demo`, `make test`, `make check`, `make test-oldest`.
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
BIN := $(VENV)/bin
SAMPLE := data/sample
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false

.PHONY: demo docs notebooks test test-browser test-harnesses test-trl test-oldest check reliability clean

# Installed once, and again whenever the dependencies change.
$(VENV)/.installed: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e '.[docs,evaluate,mini,notebooks,plot,published,ray,report,serve,tensorboard,dev,browser]'
	@touch $@

# Rank the sample's four systems with the released evaluator, and with GLEU for comparison.
demo: $(VENV)/.installed
	$(BIN)/learnedgec rank --src $(SAMPLE)/source.txt --hyp $(SAMPLE)/systems/*.txt \
	    --gold $(SAMPLE)/gold.m2 --metric some impara gleu

# The tutorials as notebooks without outputs, in notebooks/.
notebooks: $(VENV)/.installed
	mkdir -p notebooks
	for page in docs/tutorials/*-*.md; do \
	    $(BIN)/jupytext --quiet --to ipynb --output notebooks/$$(basename $$page .md).ipynb $$page; done

test: $(VENV)/.installed
	VENV=$(VENV) scripts/test

# The report in a real browser, which `make test` skips where there is none; scripts/install_browser gets one.
test-browser: $(VENV)/.installed
	LEARNEDGEC_BROWSER=insist VENV=$(VENV) scripts/test tests/report/test_browser.py

# Twenty steps of GRPO, which `make test` skips where there is no TRL.
test-trl: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) trl
	VENV=$(VENV) scripts/test tests/use/test_trl.py

# A task of lm-evaluation-harness, which `make test` skips where that is not installed. inspect-ai and lighteval need other
# versions than the pinned ones, so they are tried in an environment of their own: docs/how-to/harnesses.md.
test-harnesses: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) lm-eval
	VENV=$(VENV) scripts/test tests/use/harnesses

# The tests on the oldest versions that pyproject.toml allows, whose own warnings about newer ones do not count.
test-oldest:
	$(MAKE) test VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt PYTEST_ADDOPTS='-W default'

# The site, into docs/_build/html; a warning, such as of a link that leads nowhere, is an error.
docs: $(VENV)/.installed
	VENV=$(VENV) scripts/docs

check: $(VENV)/.installed
	VENV=$(VENV) scripts/check

# The promises of docs/reliability.md, tried for half an hour; SEED=N tries other inputs.
reliability: $(VENV)/.installed
	VENV=$(VENV) scripts/reliability/all

clean:
	rm -rf $(VENV) .venv-oldest build dist runs docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis

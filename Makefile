# Every target sets itself up: `make demo`, `make test`, `make check`, `make docs`.
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
BIN := $(VENV)/bin
# Modules are compiled when they are first imported, which is sooner than compiling all that is installed.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c $(CONSTRAINTS)
SAMPLE := data/sample
export VENV
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false

.PHONY: demo test test-machine test-browser test-harnesses test-notebooks test-ray test-trl test-oldest check docs \
    notebooks reliability clean

# The package alone. Installed once, and again whenever the dependencies change.
$(VENV)/.core: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	@touch $@

# What `make check` and `make test` need as well.
$(VENV)/.installed: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[asano,judge,llm,mini,plot,published,report,serve,tensorboard,dev]'
	@touch $(VENV)/.core $@

# Rank the sample's four systems with the released evaluator, and with GLEU for comparison.
demo: $(VENV)/.core
	$(BIN)/learnedgec rank --src $(SAMPLE)/source.txt --hyp $(SAMPLE)/systems/*.txt \
	    --gold $(SAMPLE)/gold.m2 --metric some impara gleu

check: $(VENV)/.installed
	scripts/check

test: $(VENV)/.installed
	scripts/test

# Tests whose result may depend on the machine, as on another one: scripts/test_machine.
test-machine: $(VENV)/.installed
	scripts/test_machine

# What `make test` skips because it needs more packages. First the report in a real browser, which
# scripts/install_browser installs.
test-browser: $(VENV)/.installed
	$(INSTALL) -e '.[browser]'
	LEARNEDGEC_BROWSER=insist scripts/test tests/report/test_browser.py tests/judging/test_browser.py

# A task of lm-evaluation-harness, which `make test` skips where that is not installed.
test-harnesses: $(VENV)/.installed
	$(INSTALL) lm-eval
	scripts/test tests/test_examples.py -k 'lm_eval or evaluate_module'

test-notebooks: $(VENV)/.installed
	$(INSTALL) -e '.[notebooks]'
	scripts/test tests/test_tutorials.py

test-ray: $(VENV)/.installed
	$(INSTALL) -e '.[ray]'
	scripts/test tests/applications/corpus/test_ray.py

# Twenty steps of GRPO.
test-trl: $(VENV)/.installed
	$(INSTALL) trl
	scripts/test tests/applications/test_trl.py

# The tests on the oldest versions that pyproject.toml allows, whose own warnings about newer ones do not count.
test-oldest:
	$(MAKE) test VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt PYTEST_ADDOPTS='-W default'

# The site, into docs/_build/html; a warning, such as of a link that leads nowhere, is an error.
docs: $(VENV)/.installed
	$(INSTALL) -e '.[docs]'
	scripts/docs

# The tutorials as notebooks without outputs, in notebooks/.
notebooks: $(VENV)/.installed
	$(INSTALL) -e '.[notebooks]'
	mkdir -p notebooks
	for page in docs/tutorials/*-*.md; do \
	    $(BIN)/jupytext --quiet --to ipynb --output notebooks/$$(basename $$page .md).ipynb $$page; done

# The promises of docs/reliability.md, tried for some minutes; SEED=N tries other inputs.
reliability: $(VENV)/.installed
	scripts/reliability/all

clean:
	rm -rf $(VENV) .venv-oldest build dist runs docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis

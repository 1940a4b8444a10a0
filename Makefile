# Every target sets itself up: `make demo`, `make test`, `make check`, `make docs`.
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
BIN := $(VENV)/bin
# Modules are compiled when they are first imported, which is sooner than compiling all that is installed.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c $(CONSTRAINTS)
SAMPLE := data/sample
# The last line of what CI leaves out, if all of it passed.
SEEN = @echo "make $@ has seen:"
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
	$(INSTALL) -e '.[asano,completion,judge,llm,mini,plot,published,serve,tensorboard,ter,dev]'
	@touch $(VENV)/.core $@

# Rank the sample's four systems with the released evaluator, and with GLEU for comparison.
demo: $(VENV)/.core
	$(BIN)/learnedgec rank --src $(SAMPLE)/source.txt --hyp $(SAMPLE)/systems/*.txt \
	    --gold $(SAMPLE)/gold.m2 --metric quality preference gleu

check: $(VENV)/.installed
	scripts/check

test: $(VENV)/.installed
	scripts/test

# Tests whose result may depend on the machine, as on another one: scripts/test_machine.
test-machine: $(VENV)/.installed
	scripts/test_machine

# What `make test` skips because it needs more packages. First pages in a real browser, which
# scripts/install_browser installs.
test-browser: $(VENV)/.installed
	$(INSTALL) -e '.[browser]'
	LEARNEDGEC_BROWSER=insist scripts/test tests/report/test_browser.py tests/judging/test_browser.py \
	    tests/applications/test_browser.py
	$(SEEN) the report, the page for judgements and /docs of the service in Chromium, without a network.

# A task of lm-evaluation-harness, which `make test` skips where that is not installed.
test-harnesses: $(VENV)/.installed
	$(INSTALL) lm-eval
	scripts/test tests/test_examples.py -k 'lm_eval or evaluate_module'
	$(SEEN) the scores of the library in lm-evaluation-harness and in evaluate.

test-notebooks: $(VENV)/.installed
	$(INSTALL) -e '.[notebooks]'
	scripts/test tests/test_tutorials.py
	$(SEEN) the outputs on the pages of the tutorials, which a kernel runs as notebooks.

test-ray: $(VENV)/.installed
	$(INSTALL) -e '.[ray]'
	scripts/test tests/applications/corpus/test_ray.py
	$(SEEN) scores on Ray equal to those without, also after a kill and from another folder.

# Twenty steps of GRPO.
test-trl: $(VENV)/.installed
	$(INSTALL) trl
	scripts/test tests/applications/test_trl.py
	$(SEEN) GRPO with a reward of learnedgec.

# The tests on the oldest versions that pyproject.toml allows, whose own warnings about newer ones do not count.
test-oldest:
	$(MAKE) test VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt PYTEST_ADDOPTS='-W default'
	$(SEEN) all tests on the oldest versions of all packages.

# The site, into docs/_build/html; a warning, such as of a link that leads nowhere, is an error.
docs: $(VENV)/.installed
	$(INSTALL) -e '.[docs]'
	scripts/docs
	$(SEEN) the site without a warning, with a page for everything, in docs/_build/html.

# The tutorials as notebooks without outputs, in notebooks/.
notebooks: $(VENV)/.installed
	$(INSTALL) -e '.[notebooks]'
	mkdir -p notebooks
	for page in docs/tutorials/*-*.md; do \
	    $(BIN)/jupytext --quiet --to ipynb --output notebooks/$$(basename $$page .md).ipynb $$page; done

# The promises of docs/reliability.md, tried for some minutes; SEED=N tries other inputs.
reliability: $(VENV)/.installed
	scripts/reliability/all
	$(SEEN) every promise of docs/reliability.md kept.

clean:
	rm -rf $(VENV) .venv-oldest build dist runs docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis

from __future__ import annotations

import dataclasses
import gc
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from learnedgec import metrics
from learnedgec.errors import BadNameError, ParameterError, UnknownNameError
from learnedgec.metrics.registry import (
    METRICS,
    alias_parameters,
    load_metric,
    metric_class,
    with_parameters,
)
from learnedgec.metrics.tuned import TunedMetric, write_tuned


@pytest.mark.parametrize("name", METRICS)
def test_every_row_is_that_of_a_metric(name: str) -> None:
    kind = metric_class(name)
    assert kind.__doc__
    assert kind.name in METRICS
    # An alias sets parameters of the metric that it stands for.
    assert (kind.name == name) == (not alias_parameters(name))
    assert kind.aggregate_parameters <= {field.name for field in dataclasses.fields(kind)}
    assert getattr(metrics, kind.__name__) is kind
    assert kind.__name__ in dir(metrics)


def test_the_stub_says_what_the_registry_says() -> None:
    script = Path(__file__).parents[2] / "scripts" / "stubs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("GLEU", "gleu"),
        ("SentM2", "sentm2"),
        ("PTM2", "pt-m2"),
        ("Edit_Count", "edit-count"),
        ("m2(beta=1)", "m2(beta=1.0)"),
        ("some(weights=[1, 0, 0])", "some(weights=(1.0, 0.0, 0.0))"),
        ("learnedgec.metrics.gleu:Gleu", "gleu"),
    ],
)
def test_spellings_of_one_metric(typed: str, name: str) -> None:
    assert load_metric(typed) == load_metric(name)
    assert load_metric("gleu(n=2)", n=3) == load_metric("gleu(n=3)")


@pytest.mark.parametrize(
    ("name", "label", "full"),
    [
        (" gleu ( n=4 , iterations=9 ) ", "gleu(iterations=9)", None),
        ("gleu", "gleu", None),
        # SOME names the models in use alone.
        ("some", "some[joint-mpnet-3]", "some[joint-mpnet-3](weights=(0.55, 0.43, 0.02))"),
        ("quality(model='a.b+2')", "quality[a.b+2]", None),
        ("quality[mine] (threshold=0.9)", "quality[mine](threshold=0.9)", None),
        ("quality(model='org/name')", "quality(model='org/name')", None),
        ("quality[./mine]", "quality(model='./mine')", None),
        ("head[./mine.fluency]", "head(model='./mine', name='fluency')", None),
        ("head[org/mine@v1.2.fluency]", "head(model='org/mine@v1.2', name='fluency')", None),
        ("ensemble(some[mine]=0.5, gleu=1)", "ensemble(some[mine]=0.5, gleu=1.0)", None),
        ("ensemble(members=('length', 'random'))", "ensemble(length=0.5, random=0.5)", None),
        ("ensemble(members={'random(seed=2)': 1})", "ensemble('random(seed=2)'=1.0)", None),
        (
            "ensemble(m2(beta=1.0)=1, \"bertscore(encoder='a=b,(')\"=1, scales=((1, 2), (0, 3)))",
            "ensemble('m2(beta=1.0)'=1.0, \"bertscore(encoder='a=b,(')\"=1.0, "
            "scales=((1.0, 2.0), (0.0, 3.0)))",
            None,
        ),
        ("quality", "quality[open-mpnet]", None),
        ("preference", "preference[open-mpnet]", None),
        ("impara", "impara[open-mpnet]", None),
        ("head(name='quality')", "head[open-mpnet.quality]", None),
        ("head[m.a]", "head[m.a]", "head(model='m', heads=('a',), weights=(1.0,))"),
        ("head(model='m.2', heads=('a',))", "head[m.2.a]", None),
        ("head(model='o/m', name='a')", "head(model='o/m', name='a')", None),
        ("head(model='m', name='a.b')", "head(model='m', name='a.b')", None),
        ("ensemble(head[m.a]=0.5, head[m.b]=0.5)", "ensemble(head[m.a]=0.5, head[m.b]=0.5)", None),
        (
            "head(model='m', heads=['a', 'b'])",
            "head(model='m', weights={'a': 0.5, 'b': 0.5})",
            "head(model='m', heads=('a', 'b'), weights=(0.5, 0.5))",
        ),
        (
            "some(model='x', grammaticality='a', fluency='b', meaning='c')",
            "some(grammaticality='a', fluency='b', meaning='c')",
            "some(grammaticality='a', fluency='b', meaning='c', weights=(0.55, 0.43, 0.02))",
        ),
    ],
)
def test_labels_and_full_names(name: str, label: str, full: str | None) -> None:
    metric = load_metric(name)
    assert metric.label == label
    assert full is None or str(metric) == full
    assert load_metric(str(metric)) == metric
    assert load_metric(label).label == label


# -- classes by their import path --------------------------------------------------------------------

CHARACTERS = """
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from learnedgec import Metric, Statistics


@dataclass(frozen=True)
class Characters(Metric):
    name: ClassVar[str] = "characters"
    needs_references: ClassVar[bool] = False
    scale: float = 1.0

    def compute(self, sources, hypotheses, references, runtime):
        return Statistics({"n": np.array([float(len(text)) for text in hypotheses])})

    def sentence_scores(self, statistics):
        return statistics["n"] * self.scale


@dataclass(frozen=True)
class Words(Characters):
    words: Sequence[str] = ()
    other: Any = None


class Nameless(Characters):
    name = None


class Bare(Characters):
    lower: bool = False


class Half(Metric):
    name = "half"

    def compute(self, sources, hypotheses, references, runtime):
        return None


NOTHING = 3
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of a module in the current folder, which Python does not look into by itself."""
    name = "module_of_the_current_folder"
    (tmp_path / f"{name}.py").write_text(CHARACTERS)
    (tmp_path / "broken_module.py").write_text("raise SystemExit('no such luck\\nat all')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    importlib.invalidate_caches()
    yield name
    sys.modules.pop(name, None)
    gc.collect()  # a class is in cycles; Metric must forget this one


def test_a_class_of_the_current_folder_is_a_metric(own_module: str) -> None:
    path = f"{own_module}:Characters"
    metric = load_metric(f"{path}(scale=2)")
    assert metric.label == str(metric) == f"{path}(scale=2.0)"
    assert load_metric(str(metric)) == metric
    assert load_metric(path).label == path
    score = metric.score(["a b"], ["a b c"])
    assert score.value == 10.0
    # It has no version, so its code is named; the statistics are kept under that.
    assert score.signature.startswith(f"{path}(scale=2.0)|code:")
    mixed = load_metric(f"ensemble({path}=0.5, length=0.5)")
    assert mixed.label == f"ensemble({path}=0.5, length=0.5)"
    assert load_metric(str(mixed)).score(["a"], ["a b c"]).value == 4.0
    assert with_parameters(metric, {"scale": 3.0}).label == f"{path}(scale=3.0)"


def test_a_class_may_take_any_sequence_and_anything(own_module: str) -> None:
    path = f"{own_module}:Words"
    metric = load_metric(f"{path}(words=['a', 'b'], other={{1: 2}})")
    assert metric.label == f"{path}(words=('a', 'b'), other={{1: 2}})"
    assert load_metric(str(metric)) == metric
    with pytest.raises(ParameterError, match="'a'"):
        load_metric(f"{path}(words='a')")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module_here:M", r"cannot be imported \(ModuleNotFoundError: No module named"),
        ("broken_module:M", r"cannot be imported \(SystemExit: no such luck\);"),
        ("{own}:Charakters", r"current_folder\.py has no subclass of Metric named Charakters"),
        ("{own}:NOTHING", "has no subclass of Metric named NOTHING"),
        ("{own}:Half", "Half in .* lacks sentence_scores"),
        ("{own}:Nameless", "the class has no name"),
        (
            "{own}:Bare",
            r"'lower' is no parameter yet; write @dataclass\(frozen=True\) above the class",
        ),
        ("{own}", "a class of your own is MODULE:CLASS"),
        ("{own}:Characters(n=1)", "no parameter of .*:Characters is named 'n'"),
    ],
)
def test_what_is_no_metric_there_is_one_sentence(own_module: str, name: str, message: str) -> None:
    with pytest.raises(BadNameError, match=message) as caught:
        load_metric(name.format(own=own_module))
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:the spaCy package")
@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("glue", UnknownNameError, "no metric is named 'glue'; did you mean 'gleu'?"),
        ("gleu,m2(beta=1.0)", BadNameError, "one name such as gleu or m2(beta=1.0) was expected"),
        ("gleu(m=3)", ParameterError, "no parameter of gleu is named 'm'; known: "),
        ("gleu(n=0.5)", ParameterError, "gleu(n=0.5): a whole number of at most 64 bits was"),
        ("gleu(n=0)", ParameterError, "at least 1"),
        ("some(weights=(1, 2))", ParameterError, "was expected"),
        ("some(weights=(-1, 1, 1))", ParameterError, "weights must not be negative"),
        ("gleu(4)", BadNameError, "write them as gleu(parameter=value, …)"),
        ("gleu(n=4", BadNameError, "a bracket is not closed"),
        ("gleu(n=open('x'))", BadNameError, "cannot be read"),
        ("gleu(n=1, n=2)", BadNameError, "gives the parameter 'n' twice"),
        ("gleu(n=" + "~" * 100_000 + "1)", BadNameError, "has 100009 characters; at most 10000"),
        ("m2(beta=1e999)", ParameterError, "m2(beta=inf): a finite number was expected."),
        ("", BadNameError, "is not a metric"),
        ("ensemble", ParameterError, "needs the parameter 'members'"),
        ("ensemble(members=())", ParameterError, "needs one or more members"),
        ("ensemble(members=('gleu', 'gleu(n=4)'))", ParameterError, "name each only once"),
        ("ensemble(length=1.0, weights=(1.0,))", ParameterError, "in only one of the ways"),
        ("ensemble(members=('gleu',), weights=(1, 2))", ParameterError, "2 weights for 1"),
        ("ensemble(length=1, scales=((0, 0),))", ParameterError, "positive deviation"),
        ("ensemble(glue=1.0)", ParameterError, "no metric is named 'glue'; did you mean 'gleu'?"),
        ("ensemble(**{'gleu': 1})", BadNameError, "cannot be read"),
        ("gleu(n=4, , unit='word')", BadNameError, "cannot be read"),
        ("gleu(n=4)(n=3)", BadNameError, "cannot be read"),
        ("gleu(n=" + "(" * 4000 + ")" * 4000 + ")", BadNameError, "cannot be read"),
        ("ensemble(some@nothing=1)", UnknownNameError, "no tuned metric is named 'some@nothing'"),
        ("head(model='m')", ParameterError, "such as head[m.quality]"),
        ("head[../mine]", ParameterError, "such as head[../mine.quality]"),
        ("head[m.a](name='b')", ParameterError, "name the outputs once"),
        ("head(name='a', heads=('a',))", ParameterError, "name the outputs once"),
        ("head(heads=('a', 'b'), weights=(1,))", ParameterError, "1 weights for 2 heads"),
        ("errant(mode='spans')", ParameterError, "'span-correction' or 'span-detection' or"),
        ("gleu(iterations=0)", ParameterError, "must be at least 1"),
        ("green(beta=-1.0)", ParameterError, "beta at least 0"),
        ("m2(beta=-1.0)", ParameterError, "beta must be 0 or a positive number"),
        ("pt-m2(beta=-1.0)", ParameterError, "beta must be 0 or a positive number"),
        ("m2(max_unchanged_words=-1)", ParameterError, "max_unchanged_words must be at least 0"),
        ("cleme(edits='aligned', beta=-1.0)", ParameterError, "beta must be"),
        ("cleme(edits='aligned', mean_length=-1.0)", ParameterError, "mean_length must be"),
        ("cleme(annotator='en-ewt-sm', unit='char')", ParameterError, "characters have no parse"),
        ("cleme2(edits='aligned', unit='char')", ParameterError, "and no similarity; with "),
        ("cleme2(factors=(0.5, 0.4, 0.1, 0.1))", ParameterError, "the factors sum to 1.1"),
        ("uot-errant(reg=0)", ParameterError, "reg and reg_m must be above 0"),
        ("scribendi(threshold=1.5)", ParameterError, "threshold must be from 0 to 1"),
        ("asano(weights=(0, 0, 0))", ParameterError, "nor all zero"),
        ("classifier", ParameterError, "needs the parameter 'model'"),
        ("llm-s(criterion='impact')", ParameterError, "grammaticality"),
        ("llm-e(criterion='fluency')", ParameterError, "difficulty"),
        ("llm-s(group_size=0)", ParameterError, "from 1 to 20"),
        ("llm-s(output='xml')", ParameterError, "json-schema"),
    ],
)
def test_unusable_names_say_what_was_expected(
    name: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        load_metric(name)
    assert message in str(caught.value)


def test_a_tuned_metric_made_of_itself_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tmp_path))
    metric = "ensemble(members=('m@x', 'gleu'), weights=(1, 1))"
    write_tuned(tmp_path, "m@x", TunedMetric(metric, {}))
    with pytest.raises(BadNameError, match="m@x contains itself"):
        load_metric("m@x")


def test_an_unknown_tuned_metric_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tmp_path))
    with pytest.raises(UnknownNameError) as caught:
        load_metric("some@elsewhere")
    assert f"Looked in {tmp_path}, " in str(caught.value)
    assert "name another folder in LEARNEDGEC_EVALUATORS" in str(caught.value)

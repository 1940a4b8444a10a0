from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from learnedgec import metrics
from learnedgec.errors import BadNameError, ParameterError, UnknownNameError
from learnedgec.metrics.registry import METRICS, load_metric, metric_class
from learnedgec.metrics.tuned import TunedMetric, write_tuned


@pytest.mark.parametrize("name", METRICS)
def test_every_row_names_a_class_with_its_own_name(name: str) -> None:
    kind = metric_class(name)
    assert kind.__doc__
    assert kind.name in METRICS
    # An alias sets parameters of the metric that it stands for.
    assert (kind.name == name) == (not METRICS[name].parameters)


@pytest.mark.parametrize("name", METRICS)
def test_every_class_is_in_the_package(name: str) -> None:
    kind = metric_class(name)
    assert getattr(metrics, kind.__name__) is kind
    assert kind.__name__ in dir(metrics)


def test_the_stub_says_what_the_registry_says() -> None:
    script = Path(__file__).parents[2] / "scripts" / "metric_stubs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_other_class_is_in_the_package() -> None:
    assert not hasattr(metrics, "Glue")
    with pytest.raises(ImportError, match="cannot import name 'Glue'"):
        from learnedgec.metrics import Glue  # type: ignore[attr-defined]  # noqa: F401


def test_whole_numbers_become_numbers() -> None:
    assert load_metric("m2(beta=1)") == load_metric("m2(beta=1.0)")
    assert str(load_metric("some(weights=[1, 0, 0])")).endswith("weights=(1.0, 0.0, 0.0))")


def test_label_has_only_what_differs() -> None:
    assert load_metric(" gleu ( n=4 , iterations=9 ) ").label == "gleu(iterations=9)"
    assert load_metric("gleu").label == "gleu"


def test_overrides_win() -> None:
    assert load_metric("gleu(n=2)", n=3) == load_metric("gleu(n=3)")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("glue", UnknownNameError, "no metric is named 'glue'; did you mean 'gleu'?"),
        ("gleu(m=3)", ParameterError, "no parameter of gleu is named 'm'; known: "),
        ("gleu(n=0.5)", ParameterError, "gleu(n=0.5): a whole number was expected."),
        ("gleu(n=True)", ParameterError, "gleu(n=True): a whole number was expected."),
        ("gleu(n=0)", ParameterError, "at least 1"),
        ("some(weights=(1, 2))", ParameterError, "was expected"),
        ("some(weights=(-1, 1, 1))", ParameterError, "weights must not be negative"),
        ("gleu(4)", BadNameError, "write them as gleu(parameter=value, …)"),
        ("gleu(n=4", BadNameError, "is not a metric"),
        ("gleu(n=open('x'))", BadNameError, "cannot be read"),
        ("gleu(n=1, n=2)", BadNameError, "gives the parameter 'n' twice"),
        ("gleu(n=2)(n=3)", BadNameError, "cannot be read"),
        ("gleu(n=2).foo(n=3)", BadNameError, "cannot be read"),
        ("gleu()[0](n=2)", BadNameError, "cannot be read"),
        ("gleu(n=2)#(n=3)", BadNameError, "cannot be read"),
        ("gleu(n={[]})", BadNameError, "cannot be read"),
        ("gleu(n=" + "-" * 5000 + "1)", BadNameError, "cannot be read"),
        ("gleu(n=" + "~" * 100_000 + "1)", BadNameError, "has 100009 characters; at most 10000"),
        ("gleu(n=" + "9" * 5000 + ")", BadNameError, "cannot be read"),
        ("gleu(n=" + "9" * 400 + ")", ParameterError, "gleu(n=…): a number of at most 64 bits"),
        ("m2(beta=" + "9" * 400 + ")", ParameterError, "m2(beta=…): a number of at most 64 bits"),
        ("m2(beta=1e999)", ParameterError, "m2(beta=inf): a finite number was expected."),
        ("some(weights=(0.5, -1e999, 1))", ParameterError, "a finite number was expected."),
        (r"some(model='a\0b')", ParameterError, "a text without NUL"),
        (r"some(model='\ud800')", ParameterError, "halves of characters"),
        ("", BadNameError, "is not a metric"),
        ("4gleu", BadNameError, "is not a metric"),
    ],
)
def test_unusable_names_say_what_was_expected(
    name: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        load_metric(name)
    assert message in str(caught.value)


def test_values_beyond_reason_are_refused_as_arguments_too() -> None:
    for value in (10**5000, float("nan"), "a\0b"):
        with pytest.raises(ParameterError, match="was expected"):
            load_metric("m2", beta=value)


def test_a_tuned_metric_made_of_itself_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tmp_path))
    metric = "ensemble(members=('m@x', 'gleu'), weights=(1, 1))"
    write_tuned(tmp_path, "m@x", TunedMetric(metric, {}))
    with pytest.raises(BadNameError, match="m@x is made of itself"):
        load_metric("m@x")

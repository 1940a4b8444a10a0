from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from learnedgec import metrics
from learnedgec.errors import BadNameError, ParameterError, UnknownNameError
from learnedgec.metrics.registry import METRICS, load_metric, metric_class


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

"""Tables that installed packages add to, with a distribution that is really found on the path."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path

import pytest

from learnedgec import load_benchmark, load_metric
from learnedgec.cli.main import main
from learnedgec.data.benchmarks import BenchmarkEntry
from learnedgec.errors import PluginError, UnknownNameError
from learnedgec.runtime import plugins
from learnedgec.runtime.plugins import Registry
from learnedgec.runtime.runtime import Runtime

InstallPackage = Callable[..., Path]

NUMBERS = "ONE = 1\nTEXT = 'one'\n"


def registry() -> Registry[int]:
    return Registry("number", "example.numbers", {"two": 2}, lambda plugin: plugin.load_value(int))


def test_own_entries_come_first(install_package: InstallPackage) -> None:
    points = {"two": "numbers_:ONE", "one": "numbers_:ONE", "another": "numbers_:ONE"}
    install_package("numbers", {"example.numbers": points}, {"numbers_.py": NUMBERS})
    table = registry()
    assert list(table) == ["two", "another", "one"]
    assert (table.find("two"), table.find("one")) == (2, 1)
    assert "one" in table
    assert "three" not in table


def test_installed_packages_are_read_again_once_one_is_added(
    install_package: InstallPackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def recording(*, group: str) -> EntryPoints:
        read.append(group)
        return entry_points(group=group)

    monkeypatch.setattr(plugins, "entry_points", recording)
    install_package("numbers", {"example.numbers": {"one": "numbers_:ONE"}}, {})
    assert "one" in registry()
    assert list(registry()) == ["two", "one"]
    install_package("others", {"example.numbers": {"three": "numbers_:ONE"}}, {})
    assert list(registry()) == ["two", "one", "three"]
    assert read == ["example.numbers"] * 2


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("nowhere:X", "cannot be imported (ModuleNotFoundError: No module named 'nowhere')"),
        ("numbers_:TEXT", "numbers_:TEXT is not of the type int"),
        ("raising:X", "raising:X cannot be imported (RuntimeError: first line)"),
    ],
)
def test_a_broken_plugin_is_one_sentence_and_breaks_nothing_else(
    install_package: InstallPackage, target: str, reason: str
) -> None:
    raising = "raise RuntimeError('first line\\nsecond line')"
    modules = {"numbers_.py": NUMBERS, "raising.py": raising}
    points = {"bad": target, "good": "numbers_:ONE"}
    install_package("numbers", {"example.numbers": points}, modules)
    with pytest.raises(PluginError) as caught:
        registry().find("bad")
    message = str(caught.value)
    assert message.startswith("the number 'bad' of the installed package numbers cannot be used: ")
    assert message.endswith("; update or uninstall the package.")
    assert reason in message
    assert "\n" not in message
    entries = dict(registry().entries())
    assert list(entries) == ["two", "bad", "good"]
    assert (entries["two"], entries["good"]) == (2, 1)
    assert str(entries["bad"]) == message


# -- metrics and benchmarks -------------------------------------------------------------------

METRIC = '''
from dataclasses import dataclass
from typing import ClassVar

from learnedgec.metrics.sentinels import Length


@dataclass(frozen=True)
class Tokens(Length):
    """Number of tokens, as another package counts them.

    Nothing more.
    """

    name: ClassVar[str] = "tokens"

    def count(self, source, hypothesis, references):
        return (len(hypothesis.split()) * 1,)


class Misnamed(Tokens):
    name: ClassVar[str] = "words"
'''

BENCHMARK = """
from typing import Literal

from learnedgec.data.benchmarks import Benchmark, BenchmarkEntry, load_benchmark


def load(half: Literal["first", "second"] = "first") -> Benchmark:
    whole = load_benchmark("sample")
    return whole.select(sentences=list(range(36) if half == "first" else range(36, 72)))


ENTRY = BenchmarkEntry("half of the sample", load, {"half": ("first", "second")})
"""


@pytest.fixture
def plugged(install_package: InstallPackage) -> Path:
    """Return the module of an installed metric."""
    folder = install_package(
        "halves",
        {
            "learnedgec.metrics": {"tokens": "counting:Tokens", "misnamed": "counting:Misnamed"},
            "learnedgec.benchmarks": {"halves": "halved:ENTRY", "bad-halves": "halved:load"},
        },
        {"counting.py": METRIC, "halved.py": BENCHMARK},
    )
    return folder / "counting.py"


@pytest.mark.usefixtures("plugged")
def test_a_metric_of_another_package_is_like_any_other() -> None:
    metric = load_metric("tokens")
    assert load_metric(str(metric)) == metric
    assert metric.score(["a b ."], ["a b c ."]).value == 4
    assert str(load_metric("ensemble(tokens=1.0, gleu=1.0)")).startswith(
        'ensemble(members=("tokens(unit='
    )
    with pytest.raises(UnknownNameError, match="did you mean 'tokens'"):
        load_metric("token")
    with pytest.raises(PluginError, match=r"'misnamed' .*Misnamed calls itself 'words'"):
        load_metric("misnamed")


def replace_code(module: Path, old: str, new: str) -> None:
    """Change an installed module as a new version would, for the next process and for this one."""
    module.write_text(module.read_text().replace(old, new))
    # Bytecode is recognised as old by size and second, and both may be equal here.
    Path(importlib.util.cache_from_source(str(module))).unlink(missing_ok=True)
    del sys.modules[module.stem]
    importlib.invalidate_caches()


@pytest.mark.parametrize("name", ["tokens", "counting:Tokens", "ensemble(tokens=1.0)"])
def test_no_cached_score_outlives_the_code_of_a_metric(
    plugged: Path, tmp_path: Path, name: str
) -> None:
    runtime = Runtime(cache_dir=tmp_path / "cache")
    texts = ["a b ."], ["a b c ."]
    first = load_metric(name).score(*texts, runtime=runtime)
    assert first.value == 4
    assert "package:halves==1.0|" in first.signature
    assert "code:" in first.signature
    assert load_metric(name).score(*texts, runtime=runtime).signature == first.signature
    replace_code(plugged, "* 1", "* 3")
    second = load_metric(name).score(*texts, runtime=runtime)
    assert second.value == 12
    assert second.signature != first.signature


def test_a_folder_of_scores_is_not_continued_with_other_code(
    plugged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b .\n")
    folder = tmp_path / "scores"
    words = ["score", "--stream", "--src", str(text), "--hyp", str(text), "--metric", "tokens"]
    words += ["--out-dir", str(folder), "--quiet"]
    assert main(words) == 0
    assert main(words) == 0
    capsys.readouterr()
    replace_code(plugged, "* 1", "* 3")
    assert main(words) == 2
    assert capsys.readouterr().err == (
        f"learnedgec score: {folder} holds a run with other metrics; choose another folder, or delete this "
        "one.\n"
    )


@pytest.mark.usefixtures("plugged")
def test_metrics_of_other_packages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "--format", "json"]) == 0
    captured = capsys.readouterr()
    rows = {row["metric"]: row["measures"] for row in json.loads(captured.out)["rows"]}
    assert rows["tokens"] == "Number of tokens, as another package counts them"
    assert "gleu" in rows
    assert "misnamed" not in rows
    assert captured.err.startswith(
        "the metric 'misnamed' of the installed package halves cannot be"
    )
    assert len(captured.err.splitlines()) == 1
    assert main(["metrics", "tokens"]) == 0
    assert "Nothing more." in capsys.readouterr().out


@pytest.mark.usefixtures("plugged")
def test_a_benchmark_of_another_package_is_like_any_other() -> None:
    sources = load_benchmark("sample").sources
    assert load_benchmark("halves").sources == sources[:36]
    assert load_benchmark("halves:second").sources == sources[36:]
    with pytest.raises(UnknownNameError, match="did you mean 'second'"):
        load_benchmark("halves:secnd")
    with pytest.raises(UnknownNameError, match="did you mean 'halves'"):
        load_benchmark("halvs")
    with pytest.raises(
        PluginError, match=f"halved:load is not of the type {BenchmarkEntry.__name__}"
    ):
        load_benchmark("bad-halves")

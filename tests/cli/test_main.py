"""Exit codes, errors and warnings of the command line, whatever the command."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
import torch

from learnedgec.cli import main as command_line
from learnedgec.cli.main import main
from learnedgec.data.text import write_lines
from learnedgec.errors import InputError, SetupWarning, UnknownNameError

RUN = [sys.executable, "-c", "from learnedgec.cli.main import run; run()"]


@pytest.fixture
def score(tmp_path: Path) -> list[str]:
    """Return the words of a command that scores one sentence of a system with a name of few encodings."""
    write_lines(tmp_path / "s.txt", ["He go home ."])
    write_lines(tmp_path / "Jürgen→.txt", ["He goes home ."])
    source, output = str(tmp_path / "s.txt"), str(tmp_path / "Jürgen→.txt")
    return ["score", "--src", source, "--hyp", output, "--metric", "length", "--quiet"]


MEMORY = (
    "there is not enough memory; use less input, smaller batches (--batch-tokens, in training "
    "--data.batch_size) or fewer --jobs."
)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted."),
        (InputError("it is\n  empty."), 2, "it is empty."),
        (InputError("say ", hint="resume=True.", flag="--resume."), 2, "say --resume."),
        (OSError(24, "Too many open files", "f.txt"), 2, "f.txt: Too many open files."),
        (MemoryError(), 2, MEMORY),
        (torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate"), 2, MEMORY),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_are_one_sentence_and_an_exit_code(
    error: BaseException,
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(words: object) -> int:
        raise error

    monkeypatch.setattr(command_line, "_run_command", fail)
    assert main(["score"]) == code
    assert capsys.readouterr().err == f"learnedgec score: {message}\n"


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(UnknownNameError):
        main(["score", "--debug", "--metric", "glue"])


def test_a_fault_of_the_program_shows_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(words: object) -> int:
        raise RuntimeError

    monkeypatch.setattr(command_line, "_run_command", fail)
    with pytest.raises(RuntimeError):
        main(["score"])


def test_unknown_command_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scor"]) == 2
    assert "did you mean 'score'?" in capsys.readouterr().err
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("learnedgec 0.")
    assert main([]) == 2
    assert "usage: learnedgec COMMAND" in capsys.readouterr().out
    for words in (["--help-all"], ["help"]):
        assert main(words) == 0
        assert "usage: learnedgec COMMAND" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["help", "score"])
    assert "usage: learnedgec score" in capsys.readouterr().out


def test_programs_read_utf_8_in_every_locale(score: list[str]) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    words = [*RUN, *score, "--format", "csv"]
    done = subprocess.run(words, env=environment, capture_output=True, check=True)
    assert "\nJürgen→," in done.stdout.decode("utf-8")


@pytest.mark.filterwarnings("always")
def test_warnings_are_one_line_once_and_deprecations_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(words: object) -> int:
        for category in (FutureWarning, DeprecationWarning, PendingDeprecationWarning, UserWarning):
            warnings.warn(f"a {category.__name__}", category, stacklevel=2)
        warnings.warn("a UserWarning", stacklevel=2)
        return 0

    before = warnings.showwarning
    monkeypatch.setattr(command_line, "_run_command", warn)
    assert main(["score"]) == 0
    assert capsys.readouterr().err == "learnedgec: a UserWarning\n"
    assert warnings.showwarning is before


@pytest.mark.filterwarnings("always")
def test_what_is_not_installed_is_said_once_a_day(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(words: object) -> int:
        warnings.warn("no pipeline", SetupWarning, stacklevel=2)
        return 0

    monkeypatch.setattr(command_line, "_run_command", warn)
    assert [main(["score"]), main(["score"])] == [0, 0]
    assert capsys.readouterr().err == "learnedgec: no pipeline\n"


# SIGINT is ignored by all that a shell starts in the background, unless a handler is set.
PARENT = """
import os, pathlib, signal, time
from learnedgec.runtime.runtime import parallel_map
from learnedgec.runtime.runtime import Runtime

def work(path):
    pathlib.Path(path).touch()
    time.sleep(60)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parallel_map(work, list("abcd"), "sleeping", Runtime(jobs=2), chunk_size=1)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc here")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_workers_end_with_their_parent(tmp_path: Path, end: signal.Signals) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    deadline = time.monotonic() + 60
    with subprocess.Popen(
        [sys.executable, str(script)], cwd=tmp_path, stderr=subprocess.PIPE
    ) as parent:
        try:
            while not all((tmp_path / name).exists() for name in "ab"):
                assert time.monotonic() < deadline
            children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
            # The first child is the one that tracks resources.
            workers = [Path("/proc") / number for number in children]
            assert len(workers) == 3
            parent.send_signal(end)
            parent.communicate(timeout=30)
        finally:
            parent.kill()
    while any(worker.exists() for worker in workers) and time.monotonic() < deadline:
        pass
    assert [worker for worker in workers if worker.exists()] == []


@pytest.mark.parametrize("given", [None, "active"])
def test_threads_sleep_while_they_wait_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", given or "")
    if given is None:
        monkeypatch.delenv("OMP_WAIT_POLICY")
    monkeypatch.setattr(command_line, "main", lambda: 0)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with pytest.raises(SystemExit):
        command_line.run()
    assert os.environ["OMP_WAIT_POLICY"] == (given or "passive")

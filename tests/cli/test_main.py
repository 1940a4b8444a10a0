"""The command line whatever the system does: streams that are closed, full or of few characters; signals."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from learnedgec.cli import main as command_line
from learnedgec.cli.main import main
from learnedgec.formats.text import write_lines

pytestmark = pytest.mark.skipif(os.name == "nt", reason="streams and signals are POSIX's")

RUN = [sys.executable, "-c", "from learnedgec.cli.main import run; run()"]


@pytest.fixture
def score(tmp_path: Path) -> list[str]:
    """Return the words of a command that scores one sentence."""
    write_lines(tmp_path / "s.txt", ["He go home ."])
    write_lines(tmp_path / "h.txt", ["He goes home ."])
    source, output = str(tmp_path / "s.txt"), str(tmp_path / "h.txt")
    words = ["score", "--src", source, "--hyp", output, "--ref", output]
    return [*RUN, *words, "--metric", "length", "--quiet"]


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Any]:
    """Yield an open device that is always full, of this test's own."""
    try:
        os.mknod(tmp_path / "full", 0o600 | stat.S_IFCHR, os.makedev(1, 7))
    except PermissionError:
        pytest.skip("device nodes cannot be made here")
    with (tmp_path / "full").open("wb") as file:
        yield file


def finish(
    words: list[str], environment: Mapping[str, str] = {}, **options: Any
) -> tuple[int, bytes, str]:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run(words, env={**os.environ, **environment}, check=False, **options)
    return done.returncode, done.stdout or b"", (done.stderr or b"").decode()


@pytest.mark.parametrize("extra", [(), ("--format", "csv"), ("--help",)])
def test_a_full_place_is_one_sentence(score: list[str], full: Any, extra: tuple[str, ...]) -> None:
    code, _, error = finish([*score, *extra], stdout=full)
    assert (code, error.count("\n")) == (2, 1)
    assert "standard output cannot be written (No space left on device)" in error


def test_nobody_to_tell_is_no_reason_to_fail(score: list[str], full: Any) -> None:
    code, out, _ = finish(score, stderr=full)
    assert (code, b"length" in out) == (0, True)
    assert finish([*RUN, "scor"], stderr=full)[0] == 2


@pytest.mark.parametrize(
    ("closed", "code", "message"),
    [
        ("1", 2, "standard output cannot be written (it is closed)"),
        ("0", 0, ""),
        ("2", 0, ""),
        ("0 1 2", 2, ""),
    ],
)
def test_closed_streams(score: list[str], closed: str, code: int, message: str) -> None:
    close = f"import os,sys;[os.close(int(n)) for n in '{closed}'.split()];os.execv(sys.argv[1],sys.argv[1:])"
    found, _, error = finish([sys.executable, "-c", close, *score])
    assert (found, message in error, error.count("\n")) == (code, True, bool(message))


def test_closed_input_that_is_needed(score: list[str]) -> None:
    words = ["-" if word.endswith("s.txt") else word for word in score]
    close = "import os,sys;os.close(0);os.execv(sys.argv[1],sys.argv[1:])"
    code, _, error = finish([sys.executable, "-c", close, *words])
    assert (code, error) == (
        2,
        "learnedgec score: standard input cannot be read: it is closed.\n",
    )


def test_a_reader_that_has_left(score: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    code, _, error = finish(score, stdout=write)
    os.close(write)
    assert (code, error) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_with_few_characters_gets_a_plain_table(score: list[str], encoding: str) -> None:
    code, out, _ = finish(score, {"PYTHONIOENCODING": encoding})
    assert code == 0
    lines = out.decode("ascii").splitlines()
    assert set(lines[1].strip()) == {"-"}
    assert lines[2].split()[0] == "h"


@pytest.mark.parametrize("coercion", ["0", "1"])
def test_data_is_utf_8_in_every_locale(score: list[str], tmp_path: Path, coercion: str) -> None:
    (tmp_path / "h.txt").rename(tmp_path / "Jürgen→.txt")
    words = [word.replace("h.txt", "Jürgen→.txt") for word in score]
    environment = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": coercion, "PYTHONUTF8": coercion}
    environment |= {"PYTHONIOENCODING": ""}
    code, out, _ = finish([*words, "--format", "csv"], environment)
    assert code == 0
    assert "\nJürgen→," in out.decode()


def test_a_file_name_that_is_no_text(score: list[str], tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.txt"
    Path(os.fsdecode(name)).write_text("He goes .\n")
    words: list[Any] = [name if word.endswith("h.txt") else word for word in score]
    out = tmp_path / "out.csv"
    code, _, error = finish([*words, "--format", "csv", "--out", str(out)])
    assert (code, error) == (0, "")
    assert "\n\\xff,length," in out.read_text()


def test_what_the_system_says_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, message in (
        (OSError(24, "Too many open files", "f.txt"), "f.txt: Too many open files."),
        (MemoryError(), "there is not enough memory; use less input or smaller batches."),
    ):

        def fail(words: object, error: BaseException = error) -> int:
            raise error

        monkeypatch.setattr(command_line, "_command", fail)
        monkeypatch.setattr(command_line, "_silence", lambda stream: None)
        assert main(["score"]) == 2
        assert capsys.readouterr().err == f"learnedgec score: {message}\n"


@pytest.mark.filterwarnings("always")
def test_warnings_are_one_line_and_deprecations_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(words: object) -> int:
        for category in (FutureWarning, DeprecationWarning, PendingDeprecationWarning, UserWarning):
            warnings.warn(f"a {category.__name__}", category, stacklevel=2)
        # What is said again, from elsewhere, is not.
        warnings.warn("a UserWarning", stacklevel=2)
        return 0

    monkeypatch.setattr(command_line, "_command", warn)
    assert main(["score"]) == 0
    assert capsys.readouterr().err == "learnedgec: a UserWarning\n"


def test_warnings_are_shown_as_before_afterwards() -> None:
    before = warnings.showwarning
    main(["--version"])
    assert warnings.showwarning is before


LONG = """
import sys
from learnedgec.cli import main
def command(words):
    print("ready", flush=True)
    {work}
main._command = command
{before}
main.run()
"""

# Works of the main thread, and what the process may take to end: one that hears signals between two
# steps, one that swallows them, and one that a library in C does not come back from.
WORKS = {
    "waits": ("import time\n    time.sleep(60)", ""),
    "swallows": (
        "import time\n    while True:\n        try:\n            time.sleep(60)\n"
        "        except BaseException:\n            pass",
        "main._GRACE = 0.2",
    ),
    "is in a library": (
        "import hashlib\n    hashlib.pbkdf2_hmac('sha256', b'a', b'b', 400_000_000)",
        "main._GRACE = 0.2",
    ),
}


@pytest.mark.parametrize("work", WORKS)
def test_sigterm_is_one_line_and_143(work: str) -> None:
    body, before = WORKS[work]
    script = [sys.executable, "-c", LONG.format(work=body, before=before)]
    with subprocess.Popen(
        script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (143, "learnedgec: terminated.\n")
    assert time.monotonic() - started < 20


# SIGINT is ignored by all that a shell starts in the background, unless it is told otherwise.
PARENT = """
import os, signal, time
from learnedgec.execution.pool import parallel_map
from learnedgec.execution.runtime import Runtime
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(os.getpid(), flush=True)
    parallel_map(time.sleep, [0.3] * 2000, "sleeping", Runtime(jobs=2), chunk_size=1)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc here")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path: Path, end: signal.Signals) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as parent:
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        workers: list[Path] = []
        deadline = time.monotonic() + 30
        # The first child is the one that tracks resources.
        while len(workers) < 3 and time.monotonic() < deadline:
            workers = [Path("/proc") / number for number in children.read_text().split()]
        assert len(workers) == 3
        parent.send_signal(end)
        parent.communicate(timeout=30)
    while any(worker.exists() for worker in workers) and time.monotonic() < deadline:
        pass
    assert [worker for worker in workers if worker.exists()] == []


@pytest.mark.parametrize("when", ["_prepare_streams", "_prepare_termination", "main"])
def test_an_interrupt_around_the_command_is_one_line(
    when: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    for name in ("_prepare_streams", "_prepare_termination", "main"):
        monkeypatch.setattr(command_line, name, interrupt if name == when else lambda: None)
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit) as end:
        command_line.run()
    assert end.value.code == 130
    assert capsys.readouterr().err == "learnedgec: interrupted.\n"

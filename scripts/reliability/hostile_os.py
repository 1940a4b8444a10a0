"""Odd places, streams, limits and environments: a result or one sentence, and nothing destroyed.

Runs in a private mount namespace whose /dev is a folder of its own with nodes made for it: `--out /dev/null`,
run by root where it replaced what stands there, has once destroyed a device. Where namespaces are not
permitted, nothing is tried. Every command ends with 0, 2, 130 or 143; 2 says one sentence; a device is a
device afterwards.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from trial import ROOT, Trial, main

RUN = (sys.executable, "-c", "from learnedgec.cli.main import run; run()")

# Holds the namespace that the trials must not be in.
_OUTSIDE = "RELIABILITY_OUTSIDE"

NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}


def namespace() -> str:
    return str(Path("/proc/self/ns/mnt").readlink())


def enter() -> None:
    """Run this script again in a mount namespace of its own, or say why not and end."""
    unshare = shutil.which("unshare")
    words = [unshare or "unshare", "--mount", "--propagation", "private"]
    if not unshare or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        print("hostile_os: skipped: a private mount namespace is not permitted here")
        sys.exit(0)
    os.environ[_OUTSIDE] = namespace()
    os.execv(words[0], [*words, sys.executable, *sys.argv])


def mount(kind: str, place: Path, options: str = "") -> None:
    place.mkdir(parents=True, exist_ok=True)
    extra = ["-o", options] if options else []
    subprocess.run(["mount", "-t", kind, *extra, kind, str(place)], check=True, capture_output=True)


def own_devices() -> None:
    """Put a folder of our own nodes in the place of /dev; raise unless it is certain that it is ours."""
    if not os.environ.get(_OUTSIDE) or namespace() == os.environ[_OUTSIDE]:
        raise SystemExit("hostile_os: not in a namespace of its own; nothing is tried")
    before = Path("/dev").stat()
    mount("tmpfs", Path("/dev"), "mode=755")
    after = Path("/dev").stat()
    if before.st_dev == after.st_dev or any(Path("/dev").iterdir()):
        raise SystemExit("hostile_os: /dev is not a folder of its own; nothing is tried")
    for name, (major, minor) in NODES.items():
        os.mknod(f"/dev/{name}", 0o666 | stat.S_IFCHR, os.makedev(major, minor))
        os.chmod(f"/dev/{name}", 0o666)  # noqa: PTH101 - whatever the umask
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        Path("/dev", name).symlink_to(f"/proc/self/fd{target}")


@dataclass(frozen=True)
class Setting:
    """An odd environment for a command.

    Attributes:
        label: what is odd.
        words: the command; `{}` is the folder of the trial.
        codes: exit codes that are right.
        environment: variables set, or with `None` taken away.
        before: prepares the folder.
        inside: is called in the new process before the command starts.
        streams: options of `subprocess` for standard input and output.
        after: looks at the folder, and at what was printed.
        signal: is sent to the command.
        pause: seconds until it is, from the moment on when the command hears signals.
    """

    label: str
    words: Sequence[str]
    codes: tuple[int, ...] = (0, 2)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    before: Callable[[Path], object] = lambda folder: None
    inside: Callable[[], object] = lambda: None
    streams: Mapping[str, Any] = field(default_factory=dict)
    after: Callable[[Path, bytes], object] = lambda folder, out: None
    signal: int = 0
    pause: float = 0.0


def begin(setting: Setting) -> None:
    """Prepare the new process, which hears Ctrl-C even where these trials are a shell's background job."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    setting.inside()


def await_handler(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process catches SIGTERM; what comes earlier is for the interpreter."""
    status = Path(f"/proc/{process.pid}/status")
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        caught = next(line for line in status.read_text().splitlines() if "SigCgt" in line)
        if int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.01)


def attempt(setting: Setting, folder: Path) -> None:
    """Run a command in its odd environment and look at how it ends."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "s").write_text("He go .\n")
    (folder / "h").write_text("He goes .\n")
    setting.before(folder)
    environment = dict(os.environ)
    for name, value in setting.environment.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value.replace("{}", str(folder))
    environment["PYTHONPATH"] = str(ROOT)
    options: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        **{
            name: made(folder) if callable(made) else made for name, made in setting.streams.items()
        },
    }
    process = subprocess.Popen(
        [*RUN, *(word.replace("{}", str(folder)) for word in setting.words)],
        cwd=folder,
        env=environment,
        preexec_fn=partial(begin, setting),
        **options,
    )
    if setting.signal:
        await_handler(process)
        time.sleep(setting.pause)
        process.send_signal(setting.signal)
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    told = (err or b"").decode("utf-8", "replace")
    code = process.returncode
    assert code in setting.codes, f"exit code {code}: {told[-200:]}"
    assert "Traceback" not in told, told[-200:]
    said = [line for line in told.splitlines() if line.startswith("learnedgec")]
    assert code == 0 or not err or len(said) == 1, f"{len(said)} sentences: {told[-200:]}"
    setting.after(folder, out or b"")


def score(*extra: str) -> tuple[str, ...]:
    """Return the words of a command that scores one sentence."""
    return (
        "score",
        "--src",
        "s",
        "--hyp",
        "h",
        "--metric",
        "length",
        "--quiet",
        "--format",
        "csv",
        *extra,
    )


def node(name: str) -> Callable[[Path, bytes], None]:
    """Return a look at a device: it is one."""

    def look(folder: Path, out: bytes) -> None:
        place = Path("/dev", name).lstat()
        assert stat.S_ISCHR(place.st_mode), f"/dev/{name} is no device any more"
        assert (os.major(place.st_rdev), os.minor(place.st_rdev)) == NODES[name]

    return look


def holds(name: str, mode: int | None = None) -> Callable[[Path, bytes], None]:
    """Return a look at a file with scores."""

    def look(folder: Path, out: bytes) -> None:
        assert b"length" in (folder / name).read_bytes(), f"{name} has no scores"
        assert mode is None or stat.S_IMODE((folder / name).stat().st_mode) == mode, "another mode"

    return look


def printed(folder: Path, out: bytes) -> None:
    """Look for scores in what was printed, in any encoding."""
    assert b"length" in out.replace(b"\0", b""), "nothing was printed"


def unchanged(folder: Path, out: bytes) -> None:
    assert (folder / "h").read_text() == "He goes .\n", "an input was changed"


def limit(kind: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (value, value))


def close(*descriptors: int) -> Callable[[], None]:
    """Return what closes standard streams."""

    def work() -> None:
        for number in descriptors:
            os.close(number)

    return work


def vanish() -> None:
    """Work in a folder that is gone."""
    Path("gone").mkdir()
    os.chdir("gone")
    Path("../gone").rmdir()


def full(folder: Path) -> Any:
    """Return the device that is always full."""
    return os.open("/dev/full", os.O_WRONLY)


def leave(folder: Path) -> Any:
    """Return the end of a pipe whose reader has left."""
    read, write = os.pipe()
    os.close(read)
    return write


def link(target: str, name: str = "out") -> Callable[[Path], None]:
    return lambda folder: (folder / name).symlink_to(target)


def unix_socket(folder: Path) -> None:
    own = socket.socket(socket.AF_UNIX)
    own.bind(str(folder / "out"))
    own.close()


def full_place(folder: Path) -> None:
    if not (folder.parent / "small").is_mount():
        mount("tmpfs", folder.parent / "small", "size=64k")
    filler = folder.parent / "small" / "filler"
    filler.unlink(missing_ok=True)
    try:
        filler.write_bytes(bytes(1 << 20))
    except OSError:
        return


def no_inodes(folder: Path) -> None:
    if not (folder.parent / "inodes").is_mount():
        mount("tmpfs", folder.parent / "inodes", "nr_inodes=1")


def read_only(folder: Path) -> None:
    if not (folder.parent / "fixed").is_mount():
        mount("tmpfs", folder.parent / "fixed", "ro")


def drain(folder: Path) -> None:
    """Make a FIFO with a reader, which leaves after a minute should nobody write."""
    os.mkfifo(folder / "out")
    with (folder / "got").open("wb") as got:
        subprocess.Popen(
            ["timeout", "60", "cat", str(folder / "out")], stdout=got, stderr=subprocess.DEVNULL
        )


def drained(folder: Path, out: bytes) -> None:
    assert stat.S_ISFIFO((folder / "out").stat().st_mode), "the FIFO is none any more"
    deadline = time.monotonic() + 5
    while not (folder / "got").read_bytes() and time.monotonic() < deadline:
        pass
    holds("got")(folder, out)


LONG = "n" * 300

SLOW = (
    "tune",
    "--metric",
    "ensemble(gleu=0.5, length=0.5)",
    "--benchmark",
    "sample",
    "--trials",
    "100000",
    "--quiet",
    "--output",
    ".",
)

SETTINGS = [
    # Where results go.
    *(
        Setting(f"--out /dev/{n}", score("--out", f"/dev/{n}"), (0,), after=node(n))
        for n in ("null", "zero")
    ),
    Setting("--out /dev/full", score("--out", "/dev/full"), (2,), after=node("full")),
    Setting("--out /dev/stdout", score("--out", "/dev/stdout"), (0,), after=printed),
    Setting("--out /dev/fd/1", score("--out", "/dev/fd/1"), (0,), after=printed),
    Setting(
        "--out a link to /dev/null",
        score("--out", "out"),
        (0,),
        before=link("/dev/null"),
        after=node("null"),
    ),
    Setting("--out a FIFO", score("--out", "out"), (0,), before=drain, after=drained),
    Setting("--out a socket", score("--out", "out"), (2,), before=unix_socket),
    Setting("--out a folder", score("--out", "."), (2,)),
    Setting("--out nothing", score("--out", ""), (2,)),
    Setting("--out /", score("--out", "/"), (2,)),
    Setting("--out a long name", score("--out", LONG), (2,)),
    Setting("--out a long path", score("--out", "/".join(["n" * 200] * 30)), (2,)),
    Setting("--out under a file", score("--out", "s/out"), (2,)),
    Setting("--out in a new folder", score("--out", "a/b/out"), (0,), after=holds("a/b/out")),
    Setting(
        "--out a link", score("--out", "out"), (0,), before=link("target"), after=holds("target")
    ),
    Setting("--out a loop of links", score("--out", "out"), (2,), before=link("out")),
    Setting("--out an input", score("--out", "s"), (0,), after=unchanged),
    Setting("--out with a line feed", score("--out", "a\nb"), (0,), after=holds("a\nb")),
    Setting("--out that is no text", score("--out", "a\udcff"), (0,), after=holds("a\udcff")),
    Setting("--out a full place", score("--out", "../small/out"), (2,), before=full_place),
    Setting(
        "--out a place without inodes", score("--out", "../inodes/out"), (2,), before=no_inodes
    ),
    Setting("--out a read-only place", score("--out", "../fixed/out"), (2,), before=read_only),
    Setting(
        "--out a private file",
        score("--out", "out"),
        (0,),
        before=lambda folder: (folder / "out").touch(0o600),
        after=holds("out", 0o600),
    ),
    Setting(
        "--out with umask 077",
        score("--out", "out"),
        (0,),
        inside=lambda: os.umask(0o077),
        after=holds("out", 0o600),
    ),
    Setting("--cache-dir a file", score("--cache-dir", "s"), (2,)),
    Setting("--cache-dir a full place", score("--cache-dir", "../small"), (2,), before=full_place),
    Setting("--cache-dir /dev/null", score("--cache-dir", "/dev/null"), (2,), after=node("null")),
    Setting(
        "--plot /dev/null",
        ("rank", *score()[1:-2], "--plot", "/dev/null"),
        (2,),
        after=node("null"),
    ),
    Setting("tune --output /dev/null", (*SLOW[:-1], "/dev/null"), (2,), after=node("null")),
    Setting(
        "tune --storage /dev/null", (*SLOW, "--storage", "/dev/null"), (2,), after=node("null")
    ),
    # Where sentences come from.
    Setting("--src /dev/null", score("--src", "/dev/null"), (2,)),
    Setting("--src a folder", score("--src", "."), (2,)),
    Setting(
        "--src /dev/zero",
        score("--src", "/dev/zero"),
        (2,),
        inside=limit(resource.RLIMIT_AS, 2 << 30),
    ),
    Setting("--src unreadable", score("--src", "/proc/self/mem"), (2,)),
    Setting("--src a socket", score("--src", "out"), (2,), before=unix_socket),
    Setting("--src a long name", score("--src", LONG), (2,)),
    Setting("--src a loop of links", score("--src", "out"), (2,), before=link("out")),
    Setting("--src nothing", score("--src", ""), (2,)),
    Setting("--config a folder", score("--config", "."), (2,)),
    Setting("--config /dev/null", score("--config", "/dev/null")),
    # Streams.
    Setting("no input", score("--src", "-"), (2,), inside=close(0)),
    Setting("no output", score(), (2,), inside=close(1)),
    Setting("no errors", score(), (0,), inside=close(2), after=printed),
    Setting("no streams", score(), (2,), inside=close(0, 1, 2)),
    Setting(
        "no streams, a file", score("--out", "out"), (0,), inside=close(0, 1, 2), after=holds("out")
    ),
    Setting("a full output", score(), (2,), streams={"stdout": full}),
    Setting(
        "full errors",
        score(),
        (0,),
        streams={"stderr": full},
        after=printed,
    ),
    Setting(
        "a full output for help",
        ("--help",),
        (2,),
        streams={"stdout": full},
    ),
    Setting("a reader that has left", score(), (0,), streams={"stdout": leave}),
    Setting(
        "a reader of errors that has left", score("--src", "x"), (2,), streams={"stderr": leave}
    ),
    *(
        Setting(
            f"characters of {name}",
            score("--format", "table"),
            (0,),
            {"PYTHONIOENCODING": name},
            after=printed,
        )
        for name in ("ascii", "latin-1", "utf-8", "utf-16", "cp437")
    ),
    *(
        Setting(
            f"LC_ALL={name}, coercion {coercion}",
            score("--format", "table"),
            (0,),
            {"LC_ALL": name, "PYTHONCOERCECLOCALE": coercion, "PYTHONUTF8": coercion},
            after=printed,
        )
        for name in ("C", "POSIX", "xx_XX", "C.UTF-8")
        for coercion in ("0", "1")
    ),
    # What a process has.
    Setting("no environment", score(), (0,), dict.fromkeys(os.environ), after=printed),
    Setting("no home", score(), (0,), {"HOME": None}, after=printed),
    Setting("a home that is a file", score(), (0,), {"HOME": "{}/s"}, after=printed),
    Setting(
        "no place for temporaries",
        score("--out", "out"),
        (0,),
        {"TMPDIR": "/nowhere"},
        after=holds("out"),
    ),
    Setting(
        "narrow", score("--format", "table"), (0,), {"COLUMNS": "1", "TERM": "dumb"}, after=printed
    ),
    Setting(
        "columns that are no number",
        score("--format", "table"),
        (0,),
        {"COLUMNS": "x"},
        after=printed,
    ),
    Setting(
        "evaluators in a file", ("evaluators", "--quiet"), (0, 2), {"LEARNEDGEC_EVALUATORS": "{}/s"}
    ),
    Setting(
        "evaluators in a loop",
        ("metrics",),
        (0,),
        {"LEARNEDGEC_EVALUATORS": "{}/out"},
        before=link("out"),
    ),
    Setting(
        "evaluators with a long name",
        score("--metric", "x@y"),
        (2,),
        {"LEARNEDGEC_EVALUATORS": LONG},
    ),
    Setting("a mirror that is none", ("data", "verify"), (2,), {"LEARNEDGEC_MIRROR": "{}/s"}),
    Setting(
        "a cache that is a file",
        ("data", "verify"),
        (0, 2),
        {"LEARNEDGEC_CACHE": "{}/s", "LEARNEDGEC_MIRROR": None},
    ),
    Setting("few open files", score(), (0, 2), inside=limit(resource.RLIMIT_NOFILE, 24)),
    Setting(
        "files of no size", score("--out", "out"), (2,), inside=limit(resource.RLIMIT_FSIZE, 0)
    ),
    Setting(
        "files of little size",
        score("--cache-dir", "kept"),
        (2,),
        inside=limit(resource.RLIMIT_FSIZE, 20),
    ),
    Setting(
        "a small stack", score(), (0,), inside=limit(resource.RLIMIT_STACK, 1 << 20), after=printed
    ),
    Setting(
        "a folder that is gone",
        ("metrics",),
        (0, 2),
        inside=vanish,
    ),
    Setting(
        "SIGPIPE ignored",
        score(),
        (0,),
        inside=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN),
        streams={"stdout": leave},
    ),
    Setting(
        "SIGPIPE deadly",
        score(),
        (0, -signal.SIGPIPE),
        inside=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL),
        streams={"stdout": leave},
    ),
    *(
        Setting(f"{name} {when}", (*SLOW, *extra), (code,), signal=number, pause=pause)
        for name, number, code in (("SIGTERM", signal.SIGTERM, 143), ("SIGINT", signal.SIGINT, 130))
        for when, pause, extra in (
            ("at first", 0.0, ()),
            ("amid the imports", 0.4, ()),
            ("in a study", 12.0, ()),
            ("with workers", 12.0, ("--jobs", "2")),
        )
    ),
]


def trials(seed: int, folder: Path) -> Iterator[Trial]:
    """Yield every setting once, in an order drawn from the seed."""
    own_devices()
    try:
        for setting in Random(seed).sample(SETTINGS, len(SETTINGS)):
            yield Trial(setting.label, partial(attempt, setting, folder / "trial"))
    finally:
        # Also where the trials end before the last.
        for place in ("small", "inodes", "fixed"):
            if (folder / place).is_mount():
                subprocess.run(["umount", str(folder / place)], check=True)


if __name__ == "__main__":
    if not os.environ.get(_OUTSIDE):
        enter()
    main(
        "hostile_os",
        "Whatever the system does, a command ends with a result or one sentence.",
        trials,
        count=0,
        longest=150,
        limited=False,
    )

"""A wheel, which has one released evaluator, fetches the other from a remote by commit and SHA-256."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from learnedgec.evaluators import RATED, RELEASED, RELEASES

ROOT = Path(__file__).parents[2]
UPSTREAM = "https://raw.githubusercontent.com/learnedgec/learnedgec/"

# The wheel's program, with a local remote in the place of GitHub.
PROGRAM = f"""
import sys
import requests
from learnedgec.cli.main import main

get = requests.get
requests.get = lambda url, **options: get(url.replace({UPSTREAM!r}, sys.argv[1]), **options)
raise SystemExit(main(sys.argv[2:]))
"""


def committed(revision: str, path: str) -> bytes | None:
    """Return a file of the repository at a revision; `None` if the repository lacks it."""
    command = ["git", "cat-file", "blob", f"{revision}:{path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


@pytest.fixture
def remote() -> Iterator[str]:
    """Yield the address of a remote with every file of every commit of the repository."""
    if committed(RELEASES[RATED].commit, "LICENSE") is None:
        pytest.skip("the history of the repository is not here")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            revision, _, path = self.path[1:].partition("/")
            content = committed(revision, path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_wheel_fetches_what_it_lacks(remote: str, tmp_path: Path) -> None:
    wheel = tmp_path / "wheel"
    shutil.copytree(ROOT / "learnedgec", wheel / "learnedgec")
    # Only the names of the installed evaluator's files matter here.
    (wheel / "learnedgec/checkpoints").mkdir()
    (wheel / "learnedgec/checkpoints" / RELEASED).symlink_to(ROOT / "checkpoints" / RELEASED)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("LEARNEDGEC_")},
        "PYTHONPATH": str(wheel),
        "LEARNEDGEC_CACHE": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "0",
    }

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, remote, *arguments],
            cwd=tmp_path,
            env=environment | more,
            capture_output=True,
            text=True,
            check=False,
        )

    def fetched(**more: str) -> Path:
        done = run("evaluators", "fetch", RATED, **more)
        assert done.returncode == 0, done.stderr
        folder = Path(done.stdout.strip())
        assert folder.is_relative_to(tmp_path / "cache")
        return folder

    fetched()
    # The cache of one machine is the mirror of another.
    (tmp_path / "cache").rename(tmp_path / "mirror")
    absent = run("evaluators", "fetch", RATED, LEARNEDGEC_MIRROR=str(tmp_path / "empty"))
    assert absent.returncode == 2
    assert "the mirror lacks this file" in absent.stderr
    fetched(LEARNEDGEC_MIRROR=str(tmp_path / "mirror"))
    shutil.rmtree(tmp_path / "mirror")
    shown = run("evaluators", RATED)
    assert shown.returncode == 0, shown.stderr
    assert f"# {RATED}" in shown.stdout

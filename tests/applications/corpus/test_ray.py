"""Blocks on a Ray cluster of two workers: equal scores, nothing lost by a kill, no silent wait."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pyarrow
import pyarrow.parquet
import pytest
import tiny
from embedded import Sample
from failing_metrics import Deadly

from learnedgec.applications.corpus import Blocks, score_corpus
from learnedgec.applications.corpus.ray import RayBlocks, while_head_answers
from learnedgec.applications.corpus.reading import CorpusFiles
from learnedgec.cli.server import listen
from learnedgec.errors import ConfigError, InputError, MissingDependencyError
from learnedgec.metrics.registry import load_metric
from learnedgec.scoring import score

# Ray Data warns of what it does itself, and leaves files to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


@pytest.fixture(scope="module")
def runner() -> Iterator[RayBlocks]:
    pytest.importorskip("ray")
    with RayBlocks(workers=2) as runner:
        yield runner


def test_two_workers_one_of_which_is_killed(
    runner: RayBlocks, corpus: CorpusFiles, sample: Sample, tmp_path: Path
) -> None:
    metrics = [
        load_metric("gleu"),
        load_metric("m2"),
        Deadly(at=sample.sources[25], count=str(tmp_path / "count")),
    ]
    scores = score_corpus(
        metrics, corpus, tmp_path / "ray", Blocks(runner=runner, sentences="jsonl")
    )
    assert (tmp_path / "count.deaths").stat().st_size == 1
    expected = score_corpus(metrics, corpus, tmp_path / "alone", Blocks(sentences="jsonl"))
    assert scores == expected
    written = [
        [path.read_text() for path in sorted((tmp_path / run / "sentences").iterdir())]
        for run in ("ray", "alone")
    ]
    assert written[0] == written[1]


def test_a_block_that_kills_every_worker_is_given_up(
    runner: RayBlocks, corpus: CorpusFiles, sample: Sample, tmp_path: Path
) -> None:
    metric = Deadly(at=sample.sources[70], count=str(tmp_path / "count"), times=99)
    expected = (
        r"lines 71 to 72 were not scored: its worker was killed in each attempt \(1\), such as for want of "
        "memory; 2 of 72 "
    )
    with pytest.raises(InputError, match=expected):
        score_corpus([metric], corpus, tmp_path / "run", Blocks(runner=runner, retries=0))


def test_the_blocks_of_a_lost_machine_go_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray stands in for itself here: two machines, of which one is lost in the first round.

    Ray itself takes half a minute to notice that, so a lost machine no longer answers, but is `Alive`.
    """
    ray, exceptions = ModuleType("ray"), ModuleType("ray.exceptions")
    exceptions.RayError = type("RayError", (Exception,), {})  # type: ignore[attr-defined]
    ray.exceptions = exceptions  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.exceptions", exceptions)
    raylets = {name: listen("127.0.0.1", 0) for name in "ab"}
    ports = {name: raylet.getsockname()[1] for name, raylet in raylets.items()}
    ray.nodes = lambda: [  # type: ignore[attr-defined]
        {
            "NodeID": name,
            "Alive": True,
            "Resources": {"CPU": 1.0},
            "NodeManagerAddress": "127.0.0.1",
            "NodeManagerPort": port,
        }
        for name, port in ports.items()
    ]
    rounds: list[list[int]] = []

    def score_once(_: RayBlocks, scorer: Any, blocks: list[int]) -> Iterator[tuple[int, str]]:
        rounds.append(blocks)
        if len(rounds) == 1:
            yield 0, ""
            raylets["b"].close()
            raise exceptions.RayError("\x1b[36mthe node died.\x1b[39m\nmore")
        yield from ((block, "") for block in blocks if block != 3)

    monkeypatch.setattr(RayBlocks, "_score", score_once)
    done = list(RayBlocks(workers=2)(cast(Any, None), range(4)))
    # Block 3 kills its workers, and no further machine is lost, so it is given up.
    assert done == [(0, ""), (1, ""), (2, "")]
    assert rounds == [[0, 1, 2, 3], [1, 2, 3]]
    rounds.clear()
    with pytest.raises(ConfigError, match=r"the Ray cluster fails \(the node died\); run the same"):
        list(RayBlocks()(cast(Any, None), range(2)))
    raylets["a"].close()


def test_a_lost_head_ends_the_run_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    head = listen("127.0.0.1", 0)
    address = f"127.0.0.1:{head.getsockname()[1]}"
    never = threading.Event()

    def results() -> Iterator[int]:
        yield 1
        head.close()
        never.wait()
        yield 2

    monkeypatch.setattr("learnedgec.applications.corpus.ray._SILENT", 0.0)
    monkeypatch.setattr("learnedgec.applications.corpus.ray._LOOK", 0.01)
    found = while_head_answers(results(), address)
    assert next(found) == 1
    expected = f"the head of the Ray cluster ({address}) no longer answers; start the cluster again"
    with pytest.raises(ConfigError, match=re.escape(expected)):
        next(found)
    never.set()


def test_what_results_raise_is_raised() -> None:
    def results() -> Iterator[int]:
        yield 1
        raise OSError("lost")

    found = while_head_answers(results(), "")
    assert next(found) == 1
    with pytest.raises(OSError, match="lost"):
        next(found)
    assert list(while_head_answers([1, 2], "")) == [1, 2]


def test_auto_without_a_cluster_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(ConfigError, match="no Ray cluster runs on this machine; start one with"):
        RayBlocks(address="auto").__enter__()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """Return the address of a cluster that was started by `ray start --head` in another folder."""
    pytest.importorskip("ray")
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    start = f"start --head --block --port {port} --num-cpus 2 --include-dashboard false".split()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    head = subprocess.Popen(
        [sys.executable, "-m", "ray.scripts.scripts", *start, "--disable-usage-stats"],
        cwd=elsewhere,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert head.stdout is not None
        assert any("Ray runtime started" in line for line in head.stdout)
        yield f"127.0.0.1:{port}"
    finally:
        head.terminate()
        head.communicate(timeout=60)


# Ray's own processes import learnedgec as this one does, and ask for no token.
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    "RAY_AUTH_MODE": "disabled",
}

# All paths are relative. Prints the scores of lines and of Parquet, after the warning about GPUs.
RUN = """
import json, sys, warnings
from pathlib import Path
from learnedgec.applications.corpus.ray import RayBlocks
from learnedgec.applications.corpus.reading import open_lines, open_records
from learnedgec.applications.corpus import score_corpus

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    with RayBlocks(address=sys.argv[1], gpus=1000):
        pass
values = []
with (
    RayBlocks(address=sys.argv[1], workers=2) as runner,
    open_lines("source.txt", {"weak": "weak.txt"}, ["reference.txt"], 30, Path("copies")) as lines,
    open_records({"weak": "weak.parquet"}, 30, Path("copies")) as records,
):
    for number, corpus in enumerate([lines, records]):
        result = score_corpus(["gleu", "some[mine]"], corpus, Path(f"run{number}"), Blocks(runner=runner))
        values.append([systems["weak"].value for systems in result.scores.values()])
print(json.dumps([str(caught[0].message), values]))
"""


def test_a_cluster_that_was_started_in_another_folder(
    cluster: str,
    corpus_files: dict[str, str],
    sample: Sample,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.save_evaluator(Path("checkpoints/mine"))
    texts = [Path(corpus_files[name]).read_text().splitlines() for name in ("source", "weak")]
    references = [[row[0].text] for row in sample.references]
    columns = {"source": texts[0], "hypothesis": texts[1], "references": references}
    pyarrow.parquet.write_table(pyarrow.table(columns), "weak.parquet")
    run = [sys.executable, "-c", RUN, cluster]
    done = subprocess.run(run, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    warning, values = json.loads(done.stdout.splitlines()[-1])
    assert warning == (
        "Ray has room for 0 of 1 workers (each 1 CPU and 1000 GPU): its machines have 2 CPU and 0 GPU; the "
        "others wait until the cluster grows."
    )
    scores = score(["gleu", "some[mine]"], *texts, references)
    expected = pytest.approx([each.value for each in scores.values()], abs=1e-6)
    assert values == [expected, expected]


@pytest.mark.parametrize("service", [False, True])
def test_an_address_without_a_cluster_is_refused_at_once(service: bool) -> None:
    pytest.importorskip("ray")
    with listen("127.0.0.1", 0) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        if not service:
            listening.close()
        else:
            threading.Thread(target=_refuse, args=(listening,)).start()
        reason = "another service answers there" if service else "Connection refused"
        message = rf"no Ray cluster answers at {address} \({reason}\); check the address, or start a cluster"
        with pytest.raises(ConfigError, match=message), RayBlocks(address=address):
            pass


def _refuse(listening: socket.socket) -> None:
    """Answer one request as a web server does that speaks another protocol."""
    connection, _ = listening.accept()
    with connection:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.usefixtures("corpus_files")
def test_more_than_this_machine_has_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    words = "--src source.txt --hyp weak.txt --metric length --out-dir run --engine ray"
    message = (
        "Ray has room for 0 of 1 workers (each 1 CPU and 1000 GPU): its machines have 1 CPU and"
    )
    done = subprocess.run(
        [sys.executable, "-m", "learnedgec", "score", *words.split(), "--gpus-per-worker", "1000"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert message in done.stderr


def test_ray_is_asked_for_where_it_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with (
        pytest.raises(MissingDependencyError, match=r"pip install 'learnedgec\[ray\]'"),
        RayBlocks(),
    ):
        pass

"""Score the blocks of a corpus on a Ray cluster (extra `ray`).

Ray Data sends the numbers of blocks to actors, each with its own models. An actor reads each block from the
files that the scorer names, and writes the results. So all machines need access to these files under the
same paths or URLs. An actor works in the folder of the command, in which relative paths of models lie. If an
actor is killed, Ray starts another one and gives it the block again, as often as the scorer retries.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import queue
import re
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from learnedgec.applications.corpus import BlockScorer
from learnedgec.errors import ConfigError, needs


@dataclass(frozen=True, kw_only=True)
class RayBlocks:
    """Process blocks with a pool of actors; a context manager, connected to the cluster while it is open.

    Attributes:
        address: address of the cluster: `auto`, `HOST:PORT` or `ray://HOST:PORT`. By default the one in
            RAY_ADDRESS; if that is not set, a cluster is started on this machine and ends with the context.
        workers: number of actors.
        cpus: number of processor cores per actor.
        gpus: number of GPUs per actor; 0.25 puts four actors on one.
    """

    address: str | None = None
    workers: int = 1
    cpus: float = 1.0
    gpus: float = 0.0

    def __enter__(self) -> RayBlocks:
        # Ray's usage statistics are switched off, and warnings of its C++ part about what Ray Data does.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        with needs("ray", "engine='ray'"):
            import ray
            import ray.data
        # The results of blocks tell what Ray says about lost machines and killed actors. Ray would print some
        # of it to stdout, among the scores, even with `log_to_driver=False`.
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        ray._private.worker._worker_logs_enabled = False
        settings: dict[str, Any] = {}
        address = self.address or os.environ.get("RAY_ADDRESS")
        if address:
            _check_answers(_current() if address == "auto" else address)
        else:
            settings = {
                "num_cpus": max(self.workers * self.cpus, 1),
                "include_dashboard": False,
                # Modules of the current folder, such as somebody's own metric, are found by actors, too.
                "runtime_env": {
                    "env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
                },
            }
        try:
            with _silence():
                # Without an address, Ray would join any cluster that runs on this machine.
                ray.init(
                    address or "local",
                    log_to_driver=False,
                    logging_level=logging.CRITICAL,
                    **settings,
                )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ConfigError(
                f"no Ray cluster can be used at {address or 'this machine'}: {_plain(error)}"
                + ("; if it demands a token, set RAY_AUTH_MODE=token." if address else "")
            ) from None
        if lack := _lack(ray.nodes(), self):
            if not address:
                ray.shutdown()
                raise ConfigError(f"{lack}; ask for fewer or smaller workers.")
            warnings.warn(f"{lack}; the others wait until the cluster grows.", stacklevel=2)
        return self

    def __exit__(self, *_: object) -> None:
        import ray

        ray.shutdown()
        ray._private.worker._worker_logs_enabled = True

    def __call__(self, scorer: BlockScorer, blocks: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Score each block and yield its number, and the reason if it failed, in the order of their ends.

        The blocks of a machine that is lost go to the others. A block on which every actor died is not
        yielded.

        Raises:
            ConfigError: the cluster cannot be reached any longer.
        """
        import ray.exceptions

        left, machines = set(blocks), _machines()
        while left:
            reason = ""
            try:
                for block, error in self._score(scorer, sorted(left)):
                    left.discard(block)
                    yield block, error
            except ray.exceptions.RayError as error:
                reason = _plain(error)
            known, machines = machines, _machines()
            if not known - machines or _room(ray.nodes(), self) < 1:
                if reason:
                    raise ConfigError(
                        f"the Ray cluster fails ({reason}); run the same command again for the "
                        "blocks that are left."
                    )
                return

    def _score(self, scorer: BlockScorer, blocks: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Send each block to the actors once, and yield the results."""
        import ray.data

        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        # Results contain the errors of metrics. Any other failure of a block means that its actors died.
        context.max_errored_blocks = -1
        resources: dict[str, Any] = {"num_cpus": self.cpus}
        if self.gpus:
            resources["num_gpus"] = self.gpus
        numbers = ray.data.from_items(
            [{"block": block} for block in blocks], override_num_blocks=len(blocks)
        )
        size = min(self.workers, len(blocks))
        with warnings.catch_warnings():
            # Ray has no other way to give `max_task_retries`.
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
            results = numbers.map_batches(
                _Worker,
                fn_constructor_args=(scorer, str(Path.cwd())),
                # One block at a time, so that a block that kills an actor costs no other block an attempt.
                compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
                batch_size=1,
                max_task_retries=scorer.retries,
                **resources,
            )
        for row in while_head_answers(results.iter_rows(), _head(self.address)):
            yield int(row["block"]), row["error"]


class _Worker:
    """The work of an actor: one block at a time, with the same loaded models."""

    def __init__(self, scorer: BlockScorer, folder: str) -> None:
        # The actors of a machine need one copy of an evaluator's weights.
        os.environ.setdefault("LEARNEDGEC_SHARE_WEIGHTS", "1")
        self.scorer = scorer
        if Path(folder).is_dir():
            os.chdir(folder)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        results = [self.scorer(block) for block in batch["block"].tolist()]
        return {"block": batch["block"], "error": [error for _, error in results]}


def _current() -> str:
    """Return the address of the cluster of this machine, or raise `ConfigError` if none was started."""
    place = Path(os.environ.get("RAY_TMPDIR", tempfile.gettempdir()), "ray", "ray_current_cluster")
    try:
        return place.read_text(encoding="utf-8").strip()
    except OSError:
        raise ConfigError(
            "no Ray cluster runs on this machine; start one with `ray start`, or give its address."
        ) from None


def _check_answers(address: str) -> None:
    """Raise `ConfigError` if no cluster answers at an address, for which Ray would wait minutes."""
    match = re.fullmatch(r"(?:ray://)?\[?(.+?)\]?:(\d+)", address)
    if match and os.environ.get("RAY_USE_TLS", "0") == "0":
        try:
            with socket.create_connection((match[1], int(match[2])), timeout=5) as connection:
                # Ray speaks HTTP/2, in which each side begins with a frame of settings: type 4.
                connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
                if connection.recv(9)[3:4] != b"\4":
                    raise OSError("another service answers there")
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(
                f"no Ray cluster answers at {address} ({reason}); check the address, or start a cluster "
                "there with `ray start`."
            ) from None


def _head(address: str | None) -> str:
    """Return where the head of the connected cluster answers, or the gateway to it."""
    import ray

    address = address or os.environ.get("RAY_ADDRESS", "")
    return address if "://" in address else str(ray.get_runtime_context().gcs_address)


_Item = TypeVar("_Item")

# The seconds without an answer after which the head of a cluster is lost, and between two looks.
_SILENT, _LOOK = 30.0, 2.0


def while_head_answers(results: Iterable[_Item], head: str) -> Iterator[_Item]:
    """Yield results, and raise `ConfigError` if the head of the cluster is lost.

    After a minute without its head, Ray would end the whole program from C++, without a word.
    """
    found: queue.Queue[tuple[_Item | None, BaseException | None]] = queue.Queue()

    def read() -> None:
        try:
            for item in results:
                found.put((item, None))
            found.put((None, StopIteration()))
        except BaseException as error:
            found.put((None, error))

    threading.Thread(target=read, daemon=True).start()
    answered = time.monotonic()
    while True:
        try:
            item, end = found.get(timeout=_LOOK)
        except queue.Empty:
            try:
                _check_answers(head)
                answered = time.monotonic()
            except ConfigError:
                if time.monotonic() - answered > _SILENT:
                    raise ConfigError(
                        f"the head of the Ray cluster ({head}) no longer answers; start the cluster again, "
                        "and run the same command for the blocks that are left."
                    ) from None
            continue
        if isinstance(end, StopIteration):
            return
        if end is not None:
            raise end
        yield cast(_Item, item)


def _machines() -> set[str]:
    """Return the machines of the cluster that work.

    Ray notices a lost machine after half a minute, but its raylet no longer answers. Where none can be
    reached from here, as behind a gateway (`ray://`), Ray's word counts.
    """
    import ray

    alive = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
    with ThreadPoolExecutor(max_workers=32) as pool:
        answers = dict(zip(alive, pool.map(_answers, alive.values()), strict=True))
    return {name for name, answer in answers.items() if answer} or set(alive)


def _answers(node: Mapping[str, Any]) -> bool:
    """Return whether a machine's raylet can be reached."""
    try:
        place = node["NodeManagerAddress"], node["NodeManagerPort"]
        with socket.create_connection(place, timeout=5):
            return True
    except OSError:
        return False


def _plain(error: Exception) -> str:
    """Return the first line of an error of Ray, without codes of colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().partition("\n")[0].removesuffix(".")


def _lack(nodes: Sequence[Mapping[str, Any]], asked: RayBlocks) -> str:
    """Return why machines cannot hold all workers that are asked for; empty if they can."""
    room = _room(nodes, asked)
    if room >= asked.workers:
        return ""
    there = [node["Resources"] for node in nodes if node["Alive"]]
    cpus, gpus = (sum(float(one.get(kind, 0)) for one in there) for kind in ("CPU", "GPU"))
    return (
        f"Ray has room for {room:g} of {asked.workers} workers (each {asked.cpus:g} CPU and {asked.gpus:g} "
        f"GPU): its machines have {cpus:g} CPU and {gpus:g} GPU"
    )


def _room(nodes: Sequence[Mapping[str, Any]], asked: RayBlocks) -> float:
    """Return how many workers machines can hold."""
    room = 0.0
    for node in nodes:
        if node["Alive"]:
            cpu, gpu = (float(node["Resources"].get(kind, 0)) for kind in ("CPU", "GPU"))
            # Several workers share a GPU, but none has parts of two.
            by_gpu = (
                gpu * _quotient(1, asked.gpus) if 0 < asked.gpus < 1 else _quotient(gpu, asked.gpus)
            )
            room += min(_quotient(cpu, asked.cpus), by_gpu, asked.workers)
    return room


def _quotient(there: float, each: float) -> float:
    """Return how many workers a resource is enough for."""
    return math.floor(there / each + 1e-9) if each else math.inf


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Silence stderr of all code, whatever its language; errors are still raised."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)

"""Blocks of work on a Ray cluster: Ray Data sends their numbers to actors, each with its own models.

Ray transfers only the numbers of blocks and their entries. An actor gets the work once, reads each block from
the files that the work names, and writes the results. So all machines need access to these files under the
same paths or URLs. If an actor is killed, Ray starts another one and gives it the block again. Every attempt
is recorded on disk before it begins, and a block on which actors die repeatedly is given up.

Ray's usage statistics and its dashboard are switched off.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from learnedgec.errors import ConfigError, MissingDependencyError
from learnedgec.execution.blocks import BlockEntry, BlockWork

__all__ = ["RayBlocks"]

# Blocks that are under way or wait for each actor.
_AHEAD = 2


class RayBlocks:
    """Process blocks with a pool of actors; a context manager, connected to the cluster while it is open."""

    def __init__(
        self,
        *,
        address: str | None = None,
        workers: int = 1,
        cpus: float = 1.0,
        gpus: float = 0.0,
    ) -> None:
        """Describe the pool.

        Args:
            address: address of the cluster: `auto`, `HOST:PORT` or `ray://HOST:PORT`. By default the one in
                RAY_ADDRESS; if that is not set, a cluster is started on this machine and ends with the
                context.
            workers: number of actors.
            cpus: number of processor cores per actor.
            gpus: number of GPUs per actor; 0.25 puts four actors on one.

        Raises:
            MissingDependencyError: Ray is not installed.
            ConfigError: a number is invalid.
        """
        if workers < 1 or cpus < 0 or gpus < 0:
            raise ConfigError(
                f"{workers} workers with {cpus:g} cores and {gpus:g} GPUs each were requested; give 1 worker "
                "or more, and no negative numbers."
            )
        self.address, self.workers, self.cpus, self.gpus = address, workers, cpus, gpus

    def __enter__(self) -> RayBlocks:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Its C++ part warns of what Ray Data itself does, and of this setting.
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        try:
            import ray
            import ray.data
        except ImportError:
            raise MissingDependencyError("ray", "ray", "engine='ray'") from None
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        local = not (self.address or os.environ.get("RAY_ADDRESS"))
        own: dict[str, Any] = {
            "num_cpus": max(self.workers * self.cpus, 1),
            "include_dashboard": False,
            # Modules of the current folder, such as somebody's own metric, are found by actors, too.
            "runtime_env": {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}},
        }
        try:
            with _silence():
                ray.init(
                    self.address,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **(own if local else {}),
                )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ConfigError(
                f"no Ray cluster can be used at {self.address or 'this machine'}: {error}"
            ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        import ray

        ray.shutdown()

    def run(self, work: BlockWork, blocks: Sequence[int]) -> Iterator[BlockEntry]:
        """Process each block and yield its entry, in the order in which blocks are finished."""
        import ray.data

        # What a run that was killed has left.
        for note in work.entries.folder.glob("*/*.attempts-*"):
            note.unlink(missing_ok=True)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        resources: dict[str, Any] = {"num_cpus": self.cpus}
        if self.gpus:
            resources["num_gpus"] = self.gpus
        numbers = ray.data.from_items(
            [{"block": block} for block in blocks], override_num_blocks=len(blocks)
        )
        found = numbers.map_batches(
            _Worker,
            fn_constructor_args=(work, uuid.uuid4().hex),
            compute=ray.data.ActorPoolStrategy(
                size=self.workers, max_tasks_in_flight_per_actor=_AHEAD
            ),
            batch_size=1,
            **resources,
        )
        for row in found.iter_rows():
            block = int(row["block"])
            yield work.entries.read(block) or {"block": block, "status": "failed"}


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Silence stderr of all code, whatever its language; errors are still raised."""
    sys.stderr.flush()
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class _Worker:
    """The work of an actor: one block at a time, with the same loaded models."""

    def __init__(self, work: BlockWork, token: str) -> None:
        self.work, self.token = work, token

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        for block in batch["block"].tolist():
            died = self._begin(block)
            if died > self.work.retries:
                self.work.entries.write(
                    {
                        "block": block,
                        "status": "failed",
                        "attempts": died,
                        "error": f"its worker was killed in each attempt ({died}), such as for want of "
                        "memory",
                    }
                )
            else:
                self.work.run(block)
            self._note(block).unlink(missing_ok=True)
        return {"block": batch["block"]}

    def _note(self, block: int) -> Path:
        """Return the path of the file that counts the attempts at a block in this run."""
        return self.work.entries.path(block).with_suffix(f".attempts-{self.token}")

    def _begin(self, block: int) -> int:
        """Count an attempt, and return the number of earlier attempts that did not end."""
        note = self._note(block)
        note.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            before = note.stat().st_size
            note.write_bytes(b"." * (before + 1))
            return before
        note.write_bytes(b".")
        return 0

"""Score the blocks of a corpus on a Ray cluster (extra `ray`).

Ray Data sends the numbers of blocks to actors, each with its own models. An actor reads each block from the
files that the scorer names, and writes the results. So all machines need access to these files under the same
paths or URLs. If an actor is killed, Ray starts another one and gives it the block again, as often as the
scorer retries.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learnedgec.applications.corpus.scoring import BlockScorer
from learnedgec.errors import ConfigError, MissingDependencyError


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
        try:
            import ray
            import ray.data
        except ImportError:
            raise MissingDependencyError("ray", "ray", "engine='ray'") from None
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        settings: dict[str, Any] = {}
        if not (self.address or os.environ.get("RAY_ADDRESS")):
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
                ray.init(self.address, log_to_driver=False, logging_level=logging.ERROR, **settings)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ConfigError(
                f"no Ray cluster can be used at {self.address or 'this machine'}: {error}"
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        import ray

        ray.shutdown()

    def __call__(self, scorer: BlockScorer, blocks: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Score each block and yield its number, and the reason if it failed, in the order of their ends.

        A block on which every actor died is not yielded.
        """
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
        results = numbers.map_batches(
            _Worker,
            fn_constructor_args=(scorer,),
            # One block at a time, so that a block that kills an actor costs no other block an attempt.
            compute=ray.data.ActorPoolStrategy(size=self.workers, max_tasks_in_flight_per_actor=1),
            batch_size=1,
            max_task_retries=scorer.retries,
            **resources,
        )
        for row in results.iter_rows():
            yield int(row["block"]), row["error"]


class _Worker:
    """The work of an actor: one block at a time, with the same loaded models."""

    def __init__(self, scorer: BlockScorer) -> None:
        self.scorer = scorer

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        results = [self.scorer(block) for block in batch["block"].tolist()]
        return {"block": batch["block"], "error": [error for _, error in results]}


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

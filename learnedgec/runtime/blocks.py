"""Long work in blocks that are finished one by one, so that an interrupted run can continue.

A block is a number. Its result is in a file, its entry, which is written atomically; a block whose entry says
that it is done is not processed again. The runner of the blocks (`LocalBlocks` here,
`learnedgec.runtime.ray` on several machines) calls `BlockWork.run` for each block, in the process that does
the work.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from learnedgec.errors import InputError
from learnedgec.runtime.writing import atomic_path

__all__ = ["BlockEntries", "BlockEntry", "BlockRunner", "BlockWork", "LocalBlocks", "block_path"]

BlockEntry: TypeAlias = Mapping[str, Any]
"""What became of a block, for JSON: `block`, `status` (`done` or `failed`), `attempts`, `seconds`,
`processor_seconds`, `worker` (`HOST:PROCESS`), its largest resident memory so far in MiB (`peak_mb`, where
the system tells), where it failed `error`, and what the work returned."""

# Files in one folder.
_TOGETHER = 1000


def block_path(folder: Path, block: int, suffix: str) -> Path:
    """Return the path of a file of a block; subfolders keep each folder small.

    Args:
        folder: folder of the run.
        block: number of the block.
        suffix: ending of the file's name.
    """
    return folder / f"{block // _TOGETHER:04}" / f"{block % _TOGETHER:03}{suffix}"


@dataclass(frozen=True, slots=True)
class BlockEntries:
    """The entries of a run, in a folder that all workers can access."""

    folder: Path

    def path(self, block: int) -> Path:
        """Return the path of a block's entry."""
        return block_path(self.folder, block, ".json")

    def read(self, block: int) -> BlockEntry | None:
        """Return a block's entry; `None` if there is no readable one."""
        try:
            entry: BlockEntry = json.loads(self.path(block).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return entry

    def write(self, entry: BlockEntry) -> None:
        """Write a block's entry atomically."""
        with atomic_path(self.path(entry["block"])) as temporary:
            temporary.write_text(json.dumps(entry, ensure_ascii=False) + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class BlockWork:
    """The work on blocks, which is sent to the processes that do it.

    Attributes:
        function: function that processes the block with a number, and returns further fields of its entry.
        entries: entries of the run.
        retries: maximum number of further attempts after an error. Errors of the input are not retried.
    """

    function: Callable[[int], Mapping[str, Any]]
    entries: BlockEntries
    retries: int = 1

    def run(self, block: int) -> BlockEntry:
        """Process a block, write its entry and return it."""
        start, processor = time.perf_counter(), time.process_time()
        outcome: dict[str, Any] = {}
        for attempt in range(1, self.retries + 2):
            try:
                outcome = {"status": "done", **self.function(block)}
            except InputError as error:
                outcome = {"status": "failed", "error": str(error)}
            except Exception as error:
                # Whatever a metric raises at a block is said of it, and the others go on.
                outcome = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
                if attempt <= self.retries:
                    continue
            break
        entry = {
            "block": block,
            "attempts": attempt,
            "seconds": round(time.perf_counter() - start, 6),
            "processor_seconds": round(time.process_time() - processor, 6),
            "worker": f"{platform.node()}:{os.getpid()}",
            **_peak(),
            **outcome,
        }
        self.entries.write(entry)
        return entry


def _peak() -> dict[str, int]:
    """Return the peak resident memory of this process; nothing where the system does not tell."""
    if sys.platform != "linux":
        return {}
    import resource

    return {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}


class BlockRunner(Protocol):
    """Interface of runners that process blocks."""

    def run(self, work: BlockWork, blocks: Sequence[int]) -> Iterator[BlockEntry]:
        """Process each block and yield its entry, in the order in which blocks are finished."""


@dataclass(frozen=True, slots=True)
class LocalBlocks:
    """Process blocks in this process, one after the other."""

    def run(self, work: BlockWork, blocks: Sequence[int]) -> Iterator[BlockEntry]:
        """Process each block and yield its entry."""
        return map(work.run, blocks)

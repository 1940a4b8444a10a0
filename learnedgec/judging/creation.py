"""Making a study: which sentences it asks about, and the texts in its folder."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from learnedgec.data.benchmarks.base import write_texts
from learnedgec.data.references import ReferenceRows
from learnedgec.data.sentences import Sentences, Systems
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.annotators import available_annotator
from learnedgec.errors import InputError
from learnedgec.judging.asking import Questions
from learnedgec.judging.sampling import spread
from learnedgec.judging.settings import StudySettings
from learnedgec.metrics.bound import checked_inputs
from learnedgec.runtime.runtime import Runtime

# Types of errors are determined for this many times the number of wanted sentences.
_POOL = 3


def write_study(
    folder: Path,
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None,
    settings: StudySettings,
) -> StudySettings:
    """Write the texts and the settings of a new study into a folder; return the settings, made to fit.

    Args:
        folder: an empty folder.
        sources: N sentences.
        systems: each system's N outputs, by name.
        references: the references of the N sentences, or `None`.
        settings: what is asked; with as many sentences and questions as there are.

    Raises:
        InputError: there is nothing to ask, or a system's name cannot be used.
        LengthError: outputs or references differ in number from the sources.
    """
    texts, outputs, rows = checked_inputs((), sources, systems, references, Runtime())
    if "source" in outputs:
        raise InputError(
            "a system is named source, which stands for the uncorrected sentences; rename it, or ",
            hint="set source_is_candidate.",
            flag="use --source-is-candidate.",
        )
    settings, chosen = _choose(texts, outputs, settings)
    write_texts(
        folder,
        [texts[number] for number in chosen],
        {name: [lines[number] for number in chosen] for name, lines in outputs.items()},
        None if rows is None else rows.select(chosen),
    )
    settings.write(folder)
    return settings


def _choose(
    sources: Sequence[str], systems: Mapping[str, Sequence[str]], settings: StudySettings
) -> tuple[StudySettings, list[int]]:
    """Return the sentences to ask about, and the settings with as many sentences and questions as there are.

    The informative order gives every type of error its share (`spread`): a sentence counts for the most
    frequent type among the edits of its outputs.
    """
    if settings.source_is_candidate:
        systems = {"source": sources, **systems}
    asked = Questions(settings, sources, systems)
    counts = {number: asked.count(number) for number in range(len(sources))}
    useful = [number for number, count in counts.items() if count]
    if not useful:
        alone = f"{next(iter(systems))} is the only system, and a question compares two; give another, or "
        equal = "all outputs are equal, so there is nothing to ask; give outputs that differ, or "
        raise InputError(
            alone if len(systems) == 1 else equal,
            hint="set source_is_candidate.",
            flag="use --source-is-candidate.",
        )
    random = np.random.default_rng(settings.seed)
    size = min(settings.sentences, len(useful))
    chosen = sorted(random.permutation(useful)[:size].tolist())
    if settings.order == "informative" and size < len(useful):
        pool = sorted(random.permutation(useful)[: _POOL * size].tolist())
        chosen = spread(_main_types(asked, pool), size, random)
    most = sum(counts[number] for number in chosen)
    return dataclasses.replace(
        settings, sentences=size, questions=min(settings.questions or size, most)
    ), chosen


def _main_types(asked: Questions, numbers: Sequence[int]) -> dict[int, str]:
    """Return the most frequent type among the edits of each sentence's outputs, by its number."""
    columns = list(asked.systems.values())
    pairs = [(asked.sources[number], column[number]) for number in numbers for column in columns]
    edits = extract_edits(pairs, asked.settings.annotator or available_annotator())
    types: dict[int, str] = {}
    for place, number in enumerate(numbers):
        rows = edits[place * len(columns) : (place + 1) * len(columns)]
        common = Counter(edit.type for row in rows for edit in row).most_common(1)
        types[number] = common[0][0] if common else ""
    return types

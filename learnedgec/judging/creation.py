"""The creation of a study: the sentences to ask about, and the files with texts and settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from learnedgec.data.benchmarks.base import write_texts
from learnedgec.data.corpus import Corpus
from learnedgec.data.text import write_jsonl
from learnedgec.edits.annotator import extract_edits
from learnedgec.errors import InputError, InputWarning, warn_of_inputs
from learnedgec.judging.asking import Questions
from learnedgec.judging.records import CONTEXT_FILE, StudySettings
from learnedgec.judging.sampling import group_equal, spread
from learnedgec.metrics.contract import check_corpus
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Texts

# Types of errors are determined for this many times the number of wanted sentences.
_POOL = 3


def write_study(folder: Path, corpus: Corpus, settings: StudySettings) -> StudySettings:
    """Write the texts and the settings of a new study into a folder; return settings that fit the texts.

    Args:
        folder: an empty folder.
        corpus: the texts; raters see the neighbours of a sentence in its document.
        settings: the settings; they may ask for more sentences or questions than there are.

    Raises:
        InputError: there is nothing to ask, or a system's name cannot be used.
    """
    check_corpus((), corpus, Runtime())
    texts, outputs, rows = corpus.texts
    if "source" in outputs:
        raise InputError(
            "a system is named source, which stands for the uncorrected sentences; rename it, or ",
            hint="set source_is_candidate.",
            flag="use --source-is-candidate.",
        )
    settings, numbers = _choose(texts, outputs, settings)
    write_texts(
        folder,
        [texts[number] for number in numbers],
        {name: [lines[number] for number in numbers] for name, lines in outputs.items()},
        None if rows is None else rows.select(numbers),
    )
    if corpus.documents:
        write_jsonl(
            folder / CONTEXT_FILE,
            (dict(zip(("before", "after"), corpus.context(n), strict=True)) for n in numbers),
        )
    settings.write(folder)
    return settings


def _choose(
    sources: Texts, systems: Mapping[str, Texts], settings: StudySettings
) -> tuple[StudySettings, list[int]]:
    """Return the sentences to ask about, and the settings with as many sentences and questions as there are.

    Sentences with the same texts count once. The informative order gives every type of error its share
    (`spread`): a sentence counts for the most frequent type among the edits of its outputs. Without an
    annotator in the settings, `plain` gives the types, in a hundredth of the time of a parse.
    """
    if settings.source_is_candidate:
        systems = {"source": sources, **systems}
    questions = Questions(settings, sources, systems)
    # NUL keeps the texts of a sentence apart.
    texts = [" \0 ".join(row) for row in zip(sources, *systems.values(), strict=True)]
    counts = {group[0]: questions.count(group[0]) for group in group_equal(texts)}
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
    if size < min(settings.sentences, len(sources)):
        nothing = "no edits" if settings.task == "edits" else "equal outputs"
        left_out = {
            nothing: len(counts) - len(useful),
            "repetitions of a sentence and its outputs": len(sources) - len(counts),
        }
        reasons = ", ".join(f"{reason} ({count})" for reason, count in left_out.items() if count)
        warn_of_inputs(
            InputWarning(
                f"the study asks about {size} of {len(sources)} sentences; left out: {reasons}."
            )
        )
    chosen = sorted(random.permutation(useful)[:size].tolist())
    if settings.order == "informative" and size < len(useful):
        pool = sorted(random.permutation(useful)[: _POOL * size].tolist())
        chosen = spread(_main_types(questions, pool), size, random)
    most = sum(counts[number] for number in chosen)
    return replace(
        settings, sentences=size, questions=min(settings.questions or size, most)
    ), chosen


def _main_types(questions: Questions, numbers: Sequence[int]) -> dict[int, str]:
    """Return the most frequent type among the edits of each sentence's outputs, by its number."""
    sources, columns = questions.sources, list(questions.systems.values())
    pairs = [(sources[number], column[number]) for number in numbers for column in columns]
    edits = extract_edits(pairs, questions.settings.annotator or "plain")
    types: dict[int, str] = {}
    for place, number in enumerate(numbers):
        rows = edits[place * len(columns) : (place + 1) * len(columns)]
        common = Counter(edit.type for row in rows for edit in row).most_common(1)
        types[number] = common[0][0] if common else ""
    return types

"""What a study costs as it grows: creation, the next question, an answer, an import.

usage: python scripts/benchmark/judge.py FOLDER [--sentences 2500] [--answers 0 1000 4000 10000]

Processor time (user and system) of one process. 20 raters judge pairs of six systems, informative order;
`at once` has all of them on the page.
The studies are kept in FOLDER, so that another checkout measures the same ones (PYTHONPATH=CHECKOUT, with a
copy of FOLDER, because measuring adds answers). The last line is a digest of the questions that a small study
of each task asks: equal digests are equal questions.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from learnedgec import Answer, Study, StudySettings
from learnedgec.judging.exchange import import_judgements
from learnedgec.judging.page import application
from learnedgec.judging.records import Item

CHANGES = [
    ("go", "goes"),
    ("to", "to the"),
    ("He", "Him"),
    ("place", "places"),
    ("go", "went"),
    (".", "!"),
]


def texts(count: int) -> tuple[list[str], dict[str, list[str]]]:
    """Return sources, and systems each of which changes another word, the last two not everywhere."""
    sources = [f"He go to place {number} ." for number in range(count)]
    systems = {
        f"system-{place}": [
            text if place > 3 and number % (place + 1) == 0 else text.replace(before, after, 1)
            for number, text in enumerate(sources)
        ]
        for place, (before, after) in enumerate(CHANGES)
    }
    return sources, systems


def judge(item: Item) -> Answer:
    """Return an answer that depends on the texts alone."""
    codes = [hashlib.sha256(text.encode()).digest()[0] for text in item.texts]
    if item.edits:
        return Answer(edits=[1] * len(item.edits))
    if len(codes) == 1:
        return Answer(values={"quality": codes[0] % 101})
    return Answer(ranks=[1 + sorted(codes).index(code) for code in codes])


def answer(study: Study, count: int) -> None:
    """Answer so many items, each rater in turn."""
    raters = study.raters
    for number in range(count):
        rater = raters[number % len(raters)]
        if item := study.next(rater):
            study.record(item.number, judge(item), seconds=3)


def seconds(work: Callable[[], object], repeat: int = 1) -> float:
    """Return the processor time of one run of some work."""
    begin = time.process_time()
    for _ in range(repeat):
        work()
    return (time.process_time() - begin) / repeat


def settings(**others: object) -> StudySettings:
    """Return settings of 20 raters and as many questions as can be asked."""
    given: dict[str, object] = {"raters": 20, "annotator": "plain", "overlap": 0} | others
    return StudySettings(**given)  # type: ignore[arg-type]


def measure_study(folder: Path, sentences: int, answers: int) -> dict[str, float]:
    """Return the seconds of opening a study with so many answers, of a question and of an answer."""
    place = folder / f"answers-{answers}"
    if not place.exists():
        chosen = settings(sentences=sentences, questions=3 * sentences + 4 * answers)
        answer(Study.create(place, *texts(sentences), settings=chosen), answers)
    study = Study(place)
    raters = study.raters
    opened = seconds(lambda: [study.next(rater) for rater in raters])
    items = [study.next(rater) for rater in raters]
    update = getattr(study, "update_tables", study.write_tables)
    update()

    def round_of_answers() -> None:
        for item in items:
            if item:
                study.record(item.number, judge(item))
                update()

    stored = seconds(round_of_answers) / len(raters)
    asked = seconds(lambda: [study.next(rater) for rater in raters]) / len(raters)
    row = {"answers": answers, "first questions": opened, "answer": stored, "next question": asked}
    return row | {f"at once: {name}": each for name, each in measure_at_once(study).items()}


def measure_at_once(study: Study, clients: int = 20, rounds: int = 10) -> dict[str, float]:
    """Return what the page takes for an answer and the next question, if raters send answers at once.

    `work` is the processor time of client and page. `median` and `p95` are by the clock: a rater waits for
    the answers that came before.
    """
    waited: list[float] = []

    async def client(connection: httpx.AsyncClient, token: str) -> None:
        item = (await connection.get(f"/{token}/next")).json()
        for _ in range(rounds):
            begun = time.perf_counter()
            sent = {"answer": asdict(Answer(ranks=[1, 2])), "seconds": 3}
            reply = await connection.post(f"/{token}/items/{item['number']}", json=sent)
            waited.append(time.perf_counter() - begun)
            item = reply.raise_for_status().json()

    async def all_clients() -> None:
        transport = httpx.ASGITransport(app=application(study))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as connection:
            tokens = [study.tokens[name] for name in study.raters[:clients]]
            await asyncio.gather(*(client(connection, token) for token in tokens))

    work = seconds(lambda: asyncio.run(all_clients())) / (clients * rounds)
    waited.sort()
    median, late = (waited[int(share * len(waited))] for share in (0.5, 0.95))
    return {"work": work, "median": median, "p95": late}


def measure_creation(sentences: int, asked_about: int) -> float:
    """Return the seconds of creating a study of some of the sentences, with edits by ERRANT's rules."""
    chosen = StudySettings(sentences=asked_about)
    with TemporaryDirectory() as folder:
        place = Path(folder) / "study"
        return seconds(lambda: Study.create(place, *texts(sentences), settings=chosen))


def measure_import(folder: Path, judgements: int) -> float:
    """Return the seconds of importing so many judgements of Label Studio."""
    sources, systems = texts(judgements)
    tasks = [
        {
            "data": {
                "source": source,
                "text1": systems["system-0"][n],
                "text2": systems["system-1"][n],
            },
            "annotations": [
                {
                    "id": n,
                    "completed_by": 1,
                    "result": [
                        {
                            "from_name": "pw",
                            "to_name": "t",
                            "type": "pairwise",
                            "value": {"selected": "left"},
                        }
                    ],
                }
            ],
        }
        for n, source in enumerate(sources)
    ]
    file = folder / "export.json"
    file.write_text(json.dumps(tasks), encoding="utf-8")
    chosen = settings(sentences=judgements, order="random")
    study = Study.create(folder / "imported", sources, systems, settings=chosen)
    return seconds(lambda: import_judgements(study.folder, file))


def asked(task: str, order: str) -> str:
    """Return a digest of the questions of a small study."""
    with TemporaryDirectory() as folder:
        chosen = settings(
            task=task,
            order=order,
            sentences=40,
            questions=300,
            raters=3,
            scale="0-100",
            overlap=0.2,
        )
        study = Study.create(Path(folder) / "study", *texts(40), settings=chosen)
        seen = []
        for _ in range(60):
            for rater in study.raters:
                if item := study.next(rater):
                    seen.append([rater, item.source, item.texts])
                    study.record(item.number, judge(item))
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:8]


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sentences", type=int, default=2500)
    parser.add_argument("--answers", type=int, nargs="*", default=[0, 1000, 4000, 10000])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for asked_about in (200, options.sentences):
        spent = measure_creation(options.sentences, asked_about)
        print(f"creation of {asked_about} from {options.sentences}: {spent:.2f}", flush=True)
    for answers in options.answers:
        row = measure_study(options.folder, options.sentences, answers)
        print("  ".join(f"{name} {value:.4f}" for name, value in row.items()), flush=True)
    for judgements in (500, 2000):
        with TemporaryDirectory() as folder:
            print(
                f"import of {judgements}: {measure_import(Path(folder), judgements):.2f}",
                flush=True,
            )
    tasks = ("pairs", "ranking", "ratings", "edits")
    print("asked", *(asked(task, order) for task in tasks for order in ("informative", "random")))


if __name__ == "__main__":
    main()

"""Damaged stores: a cache entry is whole or absent, an evaluator scores as it did or is refused.

A store is damaged in its bytes, or in its members (name, type, shape, length) with checksums that fit.
Values with a checksum that fits are another entry and no damage.
"""

from __future__ import annotations

import importlib
import io
import json
import shutil
import sys
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from trial import ROOT, Trial, expect_sentence, kept, main, mutate

from learnedgec.execution import cache
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.registry import load_metric

sys.path.insert(0, str(ROOT / "tests"))

KEY = "ab" * 32

ARRAYS = {
    "x": np.arange(40.0).reshape(4, 10).T,
    "names": np.array(["a", "ü", ""]),
    "empty": np.zeros((0, 3), np.int8),
    "flag": np.array(True),
}

RECORDS = [{"edits": [[1, 2, "goes"]]}, None, "ü"]


def check_entry(folder: Path, content: bytes, values: bool = True) -> None:
    """Load an entry with this content: what was stored, or nothing; `values`: to the last bit."""
    path = folder / KEY[:2] / f"{KEY[2:]}.npz"
    path.write_bytes(content)
    found = cache.load(folder, KEY)
    if found is None:
        return
    arrays, records = found
    assert not values or records == RECORDS, "other records"
    assert arrays.keys() == ARRAYS.keys(), "other names"
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype, f"another type of {name}"
        assert arrays[name].shape == array.shape, f"another shape of {name}"
        assert not values or (arrays[name] == array).all(), f"another {name}"


def check_absent(folder: Path, content: bytes) -> None:
    """Load an entry with this content: nothing."""
    (folder / KEY[:2] / f"{KEY[2:]}.npz").write_bytes(content)
    assert cache.load(folder, KEY) is None, "it was taken"


def crafted(content: bytes, random: Random) -> bytes:
    """Return an entry with a member changed and every checksum right."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    name = random.choice(list(members))
    kind = random.randrange(6)
    if kind == 0:
        members[name] = mutate(members[name], random)
    elif kind == 1:
        del members[name]
    elif kind == 2:
        members[random.choice(["array_x", "array_/etc/passwd.npy", "../x.npy", "a/"])] = (
            members.pop(name)
        )
    elif kind == 3:
        members[name] = members[random.choice(list(members))]
    elif kind == 4:
        header = io.BytesIO()
        shape = random.choice([(10**11,), (0,), (2**63,), (-1,), (10**6, 10**6), ()])
        kinds = ["<f8", "|O", "<U1000000", "|V0", "<M8[ns]", "|b1"]
        description: Any = {"descr": random.choice(kinds), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(header, description)
        members[name] = header.getvalue() + bytes(8)
    else:
        members[name] = members[name] + b"x" * random.choice((1, 1 << 20))
    changed = io.BytesIO()
    method = random.choice(
        [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    )
    with zipfile.ZipFile(changed, "w", method) as file:
        for member, data in members.items():
            file.writestr(member, data)
    return changed.getvalue()


def check_scores(folder: Path, entry: Path, content: bytes, expected: float) -> None:
    """Score with a damaged cache: the same score, and never an error."""
    entry.write_bytes(content)
    metric = load_metric("gleu(iterations=1)")
    references = References.from_texts(["He goes home .", "Fine ."])
    runtime = Runtime(cache_dir=str(folder))
    found = metric.score(
        ["He go home .", "Fine ."], ["He goes .", "Fine ."], references, runtime=runtime
    )
    assert found.value == expected, f"{found.value} and not {expected}"


def check_package(
    whole: Path, place: Path, file: str, content: bytes | None, expected: Any
) -> None:
    """Load an evaluator with one file changed (`None`: taken away): the same scores, or a sentence."""
    from learnedgec.models.evaluator import Evaluator

    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(whole, place)
    if content is None:
        (place / file).unlink()
    else:
        (place / file).write_bytes(content)

    def scores() -> Any:
        return Evaluator.load(str(place)).predict(["He go ."], ["He goes ."])

    found: Any = expect_sentence(scores)
    if found is not None:
        assert found.keys() == expected.keys(), "other heads"
        assert all((found[head] == expected[head]).all() for head in expected), "other scores"


def past(folder: Path) -> Iterator[Trial]:
    """Yield the entries that once crashed."""
    for name, content in kept("stores"):
        yield Trial(f"corpus/{name}", partial(check_absent, folder, content), content)


def trials(seed: int, folder: Path) -> Iterator[Trial]:
    """Yield the past crashes, and then damaged stores without end."""
    from learnedgec.models.evaluator import Evaluator

    random = Random(seed)
    entries, statistics = folder / "entries", folder / "statistics"
    cache.store(entries, KEY, ARRAYS, RECORDS)
    (path,) = entries.rglob("*.npz")
    whole = path.read_bytes()
    yield from past(entries)
    check = load_metric("gleu(iterations=1)").score
    references = References.from_texts(["He goes home .", "Fine ."])
    expected = check(
        ["He go home .", "Fine ."],
        ["He goes .", "Fine ."],
        references,
        runtime=Runtime(cache_dir=str(statistics)),
    ).value
    (entry,) = statistics.rglob("*.npz")
    known = entry.read_bytes()
    tiny: Any = importlib.import_module("tiny")  # the tests' models
    package = tiny.save_evaluator(folder / "package")
    files = [file.name for file in package.iterdir()]
    rated = Evaluator.load(str(package)).predict(["He go ."], ["He goes ."])
    while True:
        kind = random.choices(["entry", "members", "statistics", "package"], [50, 30, 15, 5])[0]
        if kind == "entry":
            content = mutate(whole, random, [known])
            yield Trial(kind, partial(check_entry, entries, content), content)
        elif kind == "members":
            content = crafted(whole, random)
            yield Trial(kind, partial(check_entry, entries, content, values=False), content)
        elif kind == "statistics":
            content = mutate(known, random, [whole])
            run = partial(check_scores, statistics, entry, content, expected)
            yield Trial(kind, run, content)
        else:
            file = random.choice([*files, *["manifest.json"] * len(files)])
            data = mutate((package / file).read_bytes(), random)
            if file == "manifest.json" and random.random() < 0.5:
                data = odd_manifest(json.loads((package / file).read_text()), random)
            taken = random.random() < 0.05
            run = partial(
                check_package, package, folder / "damaged", file, None if taken else data, rated
            )
            yield Trial(f"package.{file}", run, data)


def odd_manifest(manifest: dict[str, Any], random: Random) -> bytes:
    """Return a manifest with one key, at any depth, gone or of another type."""
    place: Any = manifest
    while True:
        key = random.choice(list(place))
        if isinstance(place[key], dict) and place[key] and random.random() < 0.6:
            place = place[key]
            continue
        if random.random() < 0.4:
            del place[key]
        else:
            place[key] = random.choice([None, {}, [], "", "../x", 1e300, -1, True, [[]], {"a": 1}])
        return json.dumps(manifest).encode()


if __name__ == "__main__":
    main(
        "fuzz_stores",
        "A damaged cache costs time, never a run or a score; a damaged evaluator is refused.",
        trials,
        count=10_000,
    )

"""What each command says about input that it cannot use: one sentence on stderr, and exit code 2."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.cli.main import main

GOLD = """S He go home .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0

S Fine .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
"""
TEXTS = {
    "src.txt": "He go home .\nFine .\n",
    "good.txt": "He goes home .\nFine .\n",
    "empty.txt": "",
    "short.txt": "He goes home .\n",
    "yes.txt": "Yes .\n",
    "gold.m2": GOLD,
    "other.m2": "S He go home .\n\nS Fine !\n",
    "no-source.jsonl": '{"hypothesis": "a"}\n',
    "no-hypothesis.jsonl": '{"source": "a"}\n',
    "x.csv": "hypothesis,fluency\n",
    "x.tsv": "hypothesis\n",
}
ABSENT = "no evaluator is named 'absent'"
SCORE = "score --src src.txt --metric gleu --ref good.txt --hyp"
COMPARE = "compare --src src.txt --hyp good.txt"
NBEST = "rerank --by length --nbest"
RERANK = "rerank --src src.txt --hyp good.txt"
MIX = "tune --benchmark sample --metric 'ensemble(length=0.25, random=0.75)'"
PLAIN = "--metric \"errant(annotator='plain')\""
STREAM = "score --src src.txt --hyp good.txt --metric length --stream"

MESSAGES = [
    # inputs
    (
        "score --src src.txt --metric gleu",
        "no system output was given; name at least one file with",
    ),
    ("score --hyp good.txt --metric length", "no source was given; name the file"),
    (f"{SCORE} none.txt", "none.txt does not exist"),
    (f"{SCORE} empty.txt", "empty.txt is empty; at least one sentence was expected."),
    (
        f"{SCORE} good.txt --src .",
        "is a directory; a file with one sentence per line was expected.",
    ),
    (f"{SCORE} short.txt", "short.txt has 1; they must be parallel. The first line that only"),
    (f"{SCORE} latin.txt", "latin.txt:1: not UTF-8 (byte 0xe9); convert the file to UTF-8."),
    (f"{SCORE} good.txt good.txt", "good.txt was given twice as a system's output"),
    (f"{SCORE} gold.m2", "gold.m2 is an M2 file, and one sentence per line was expected"),
    (
        f"{SCORE} good.txt --ref gold.m2",
        "an M2 file, and texts were expected; name it with --gold.",
    ),
    (f"{SCORE} good.txt --gold gold.m2", "references come from one of them"),
    (f"{SCORE} good.txt --jsonl x.jsonl", "leave out --src, --hyp, --ref and --gold."),
    (f"{SCORE} folder", "the folder folder holds no file; one file for each system's output was"),
    (
        "score --src src.txt --hyp good.txt --gold other.m2 --metric m2",
        "differs from the source: 'Fine !' against 'Fine .'",
    ),
    (
        "score --src good.txt --hyp src.txt --gold gold.m2 --metric m2",
        "Its sentences are those of src.txt: --src and --hyp may be swapped.",
    ),
    ("score --jsonl no-source.jsonl --metric length", ":1: the key 'source' is missing; every"),
    ("score --jsonl no-hypothesis.jsonl --metric length", ":1: the key 'hypothesis' is missing."),
    ("score --jsonl x.csv --metric length", "x.csv is a table; a JSON object with the keys source"),
    ("score --jsonl x.tsv --metric length", "x.tsv is a table; "),
    # metrics
    (
        "rank --src src.txt --hyp good.txt",
        "no metric was given; name one or more, such as --metric",
    ),
    (f"{SCORE} good.txt --metric glue", "did you mean 'gleu'?"),
    (f"{SCORE} good.txt --metric 'gleu(k=3)'", "no parameter of gleu is named 'k'"),
    (
        f"{SCORE} good.txt --metric \"some(model='folder')\"",
        "directory of this name holds no manifest",
    ),
    (f"{SCORE} good.txt --metric \"some(model='absent')\"", ABSENT),
    (f"{SCORE} good.txt --by type", "gleu does not compare edits; --by works for errant, m2 and"),
    (f"{SCORE} good.txt --by type --show edits", "--by and --show were both given"),
    (f"{SCORE} good.txt --show edits", "gleu does not compare edits; --show edits works for m2"),
    (
        f"{SCORE} good.txt --reannotate",
        "--reannotate is for errant, which is not among the metrics.",
    ),
    (f"{SCORE} good.txt --dry-run", "gleu does not use a language model"),
    (f"{SCORE} good.txt --save-weights w.json", "--save-weights needs gotoscorer"),
    (f"{SCORE} good.txt --metric \"bertscore(encoder='bert', layer=2)\"", "need --allow-pickle)"),
    # options and output
    (f"{SCORE} good.txt --level word", "invalid choice: 'word'"),
    (f"{SCORE} good.txt --jobs x", "jobs is 'x'; a whole number was expected."),
    (f"{SCORE} good.txt --jobs -1", "give 0 (one per core) or a positive number"),
    (f"{SCORE} good.txt --no-such-flag", "no-such-flag"),
    (f"{SCORE} none.txt --out src.txt/o", "cannot be written"),
    (f"{SCORE} none.txt --out .", "cannot be written (Is a directory)"),
    (
        f"{SCORE} none.txt --cache-dir src.txt",
        "src.txt/entry cannot be written (Not a directory)",
    ),
    (
        f"{SCORE} good.txt --out scores.xlsx",
        "scores.xlsx stands for no format; use .json, .csv, .tsv",
    ),
    ("score --metrics gleu", "unrecognized arguments: --metrics gleu; did you mean --metric?"),
    ("rank --hypp=a", "unrecognized arguments: --hypp=a; did you mean --hyp?"),
    ("rerank --metric gleu", "unrecognized arguments: --metric gleu; did you mean --by?"),
    ("edits --zzzz gleu", "unrecognized arguments: --zzzz gleu\n"),
    # large corpora
    (STREAM, "no folder was given for the blocks; name one with --out-dir."),
    (f"{SCORE} good.txt --out-dir run", "--out-dir is for large corpora; give --stream, too."),
    (f"{SCORE} good.txt --block-size 9", "--block-size is for large corpora; give --stream, too."),
    (
        f"{STREAM} --out-dir run --workers 4",
        "--workers is for a Ray cluster; give --engine ray, too.",
    ),
    (f"{STREAM} --by type", "--by is for input that is read whole; leave out --stream."),
    (f"{STREAM} --out-dir run --parquet a", "--jsonl and --parquet each hold everything; give one"),
    (f"{STREAM} --block-size 0", "block_size is '0'; a whole number of at least 1 was expected."),
    # rank and compare
    (
        "rank --src src.txt --hyp good.txt short.txt --metric length --confidence 2",
        "confidence is '2'; a number between 0 and 1 was expected.",
    ),
    (
        "rank --src src.txt --hyp good.txt --metric length --by trueskill --significance "
        "paired-permutation",
        "learnedgec rank: paired-permutation",
    ),
    (f"{COMPARE} --metric length", "no baseline was given"),
    (f"{COMPARE} --metric length --baseline good.txt", "no system was given besides the baseline"),
    (f"{COMPARE} --metric gleu --baseline src.txt", "gleu needs references: give reference files"),
    (
        f"{COMPARE} --metric length --baseline c",
        "neither a file nor the name of a system among the",
    ),
    # rerank
    (RERANK, "no method was given"),
    (f"{RERANK} --by 'mbr(length)'", "needs no references"),
    (f"{RERANK} --by gleu", "gleu needs references: give reference files (--ref)"),
    (f"{RERANK} --by length --minimum-gain 1", "no fallback"),
    (f"{RERANK} --by vote --annotator en-ewt-sm --threshold 1", "share of votes"),
    (f"{RERANK} --by length --nbest x.jsonl", "--nbest contains the whole input"),
    (f"{NBEST} n0.jsonl", ":2: the key 'candidates' is missing"),
    (f"{NBEST} n1.jsonl", ":2: 'candidates' must be a list of texts"),
    (f"{NBEST} n2.jsonl", ":2: 'source' must be a text"),
    (f"{NBEST} n3.jsonl", ":2: some records have weights"),
    (f"{NBEST} n4.jsonl", "sentence 2 has no candidate"),
    # meta and tune
    ("meta", "no benchmark was given"),
    ("meta --benchmark seda", "did you mean"),
    ("meta --benchmark sample --human quality", "human score of sample"),
    ("tune --benchmark sample", "no metric was given"),
    ("tune --benchmark sample --metric gleu length", "but one is tuned at a time"),
    ("tune --benchmark sample --metric gleu", "space: gleu has no weights"),
    ("tune --benchmark smaple --metric gleu", "did you mean 'sample'?"),
    (
        "tune --benchmark sample --metric 'ensemble(constant=0.5, length=0.5)'",
        "constant gives every",
    ),
    (f"{MIX} --objective kendal", "invalid choice: 'kendal'"),
    (f"{MIX} --name plain", "'plain' is not a name for a tuned metric"),
    (f"{MIX} --output src.txt/out", "cannot be written"),
    (f"{MIX} --sampler annealing", "annealing"),
    # report, edits and data
    ("report --metric gleu", "no system output was given"),
    ("report --metric gleu --benchmark sample --hyp a", "a benchmark contains its own sentences"),
    ("report --metric gleu --hyp a --human EW", "--human needs a benchmark"),
    ("report --metric gleu --attribution glue --hyp a", "did you mean 'gleu'?"),
    ("report --metric gleu --benchmark sampel", "did you mean 'sample'?"),
    ("edits --src src.txt", "give both"),
    ("edits --gold gold.m2", "either --src and --hyp"),
    ("edits --src src.txt --hyp good.txt --apply", "either --src and --hyp"),
    ("edits --src src.txt --hyp good.txt --annotator en", "no annotator is named 'en'"),
    ("edits --gold gold.m2 --apply --number 3", "has no annotator 3, only 0;"),
    ("data", "action"),
    ("data fetch", "no dataset was named"),
    ("data fetch gugg", "did you mean 'gug'?"),
    ("data fetch gug --quiet --mirror nowhere", "the mirror nowhere is not a folder"),
    ("data verify jflg", "did you mean 'jfleg'?"),
    ("data list --colour", "--colour"),
    # serve
    ("serve", "no metric was given; name one or more, such as --metric gleu some."),
    (
        "serve --metric length --grace -1",
        "grace is '-1'; a whole number of at least 0 was expected.",
    ),
    ("serve --metric length --waiting-requests 0", "waiting_requests is '0'; a whole number of at"),
    # robust
    (
        "robust",
        "no command was given; name one of systems, metrics, attack, perturb; see `learnedgec robust "
        "--help`.",
    ),
    ("robust sistems", "no command of robust is named 'sistems'; did you mean 'systems'?"),
    ("robust systems", "no system output was given; name at least one file with --hyp"),
    (f"robust systems --hyp good.txt {PLAIN}", "no case was given"),
    ("robust systems --case sample --hyp system.txt --metric gleu", "gleu does not compare edits"),
    (f"robust systems --case sample --hyp para.txt {PLAIN}", "sample has 36 sentences but"),
    ("robust systems --case sample --show sources --metric length", "--show sources only writes"),
    ("robust systems --case sample --hyp good.txt --gold gold.m2", "--gold"),
    ("robust metrics --case robustgec:tem --metric length", "did you mean 'robustgec:tem8'?"),
    ("robust metrics --case sample sample --metric length", "two sets of cases are named 'sample'"),
    (
        "robust metrics --case total.txt sample --metric length",
        "is the name of the sum over all sets",
    ),
    ("robust metrics --case sample", "no metric was given"),
    ("robust metrics --case sample --show systems", "invalid choice: 'systems'"),
    ("robust attack --metric gleu", "no attack was given"),
    ("robust attack --attack conll14 --metric gleu --src src.txt", "contains its own sentences"),
    ("robust attack --attack bea19-dev --metric length", "no system output was given"),
    (
        "robust attack --attack yes.txt --src yes.txt --hyp all.txt --metric length",
        "is named 'all'",
    ),
    ("robust perturb --src src.txt", "give --src and one --ref"),
    ("robust perturb --src src.txt --ref src.txt --metric gleu", "--metric"),
    ("robust perturb --src yes.txt --ref yes.txt --out cases.jsonl", "no sentence of yes.txt has"),
    # What a metric lacks is said before anything is read.
    ("rerank --src none --hyp none --by \"impara(quality='absent')\"", ABSENT),
    ("rerank --src none --hyp none --by length --gate \"impara(quality='absent')\"", ABSENT),
    (
        "rerank --src none --hyp none --by \"mbr(ensemble(gleu=0.5, impara(quality='absent')=0.5))\"",
        ABSENT,
    ),
    ("tune --metric \"impara(quality='absent')\" --benchmark gmeg:dev", ABSENT),
    ("serve --metric \"impara(quality='absent')\" --port 0", ABSENT),
    ("robust metrics --case robustgec --metric \"impara(quality='absent')\"", ABSENT),
    ("robust attack --attack conll14 --metric \"impara(quality='absent')\"", ABSENT),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with files of every kind, without any dataset."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEARNEDGEC_MIRROR", "absent")
    for name, text in TEXTS.items():
        Path(name).write_text(text)
    Path("latin.txt").write_bytes(b"caf\xe9\n")
    Path("folder").mkdir()
    Path("bert").mkdir()
    Path("bert/config.json").write_text('{"model_type": "bert"}')
    Path("bert/pytorch_model.bin").write_bytes(b"no weights")
    first = {"source": "a", "candidates": ["b"]}
    records: list[dict[str, object]] = [
        {"source": "a"},
        {"source": "a", "candidates": "b"},
        {"source": 1, "candidates": ["b"]},
        {**first, "weights": [1]},
        {"source": "a", "candidates": []},
    ]
    for number, record in enumerate(records):
        Path(f"n{number}.jsonl").write_text(f"{json.dumps(first)}\n{json.dumps(record)}\n")
    for name in ("system.txt", "para.txt"):
        shutil.copy(SAMPLE_FOLDER / "robust" / name, name)
    shutil.copy("para.txt", "total.txt")
    shutil.copy("yes.txt", "all.txt")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("command", "message"), MESSAGES)
def test_one_sentence_and_exit_code_2(
    command: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(command)) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.startswith(f"learnedgec {command.split()[0]}: ")
    assert (out, err.count("\n")) == ("", 1)
    assert not Path("cases.jsonl").exists()
    assert not Path("report.html").exists()

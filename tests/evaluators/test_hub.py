"""Evaluators on a hub: loaded by id, pinned, pushed and pulled; a hub that fails is one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from hub_server import Handler, Hub, running_hub
from huggingface_hub import constants

from learnedgec.cli.main import main
from learnedgec.errors import BadNameError, InputError, ModelError, PackageError
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.hub import is_hub_name
from learnedgec.evaluators.loading import checkpoint_digest, load_tokenizer
from learnedgec.evaluators.locations import (
    find_evaluator,
    is_evaluator,
    open_package,
    pull_evaluator,
    push_evaluator,
)
from learnedgec.evaluators.package import check_package
from learnedgec.metrics.impara import Impara
from learnedgec.metrics.quality import Quality
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.some import Some
from learnedgec.scoring import bind_one

SOURCES = ["He go home .", "She have a dog ."]
HYPOTHESES = ["He goes home .", "She has a dog ."]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running_hub(monkeypatch, tmp_path_factory.mktemp("hub-cache")) as server:
        yield server


def test_what_is_a_name_on_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_hub_name("a-b.c/d_e@refs/pr/1")
    for name in ("name", "./org/name", "/org/name", "org/", "org/name@", "a/b/c", "org/na me", ""):
        assert not is_hub_name(name)
    # A folder goes first.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "name").mkdir(parents=True)
    assert not is_hub_name("org/name")


def test_an_evaluator_scores_by_its_id_as_by_its_folder(hub: Hub, tiny_evaluator: Path) -> None:
    commit = hub.put_folder("org/some", tiny_evaluator)
    expected = Some(model=str(tiny_evaluator)).score(SOURCES, HYPOTHESES)
    for name in ("org/some", f"org/some@{commit}", "org/some@main"):
        metric = load_metric(f"some(model={name!r})")
        assert load_metric(str(metric)) == metric
        score = metric.score(SOURCES, HYPOTHESES)
        assert score.sentences == pytest.approx(expected.sentences, abs=1e-6)
        assert score.signature.startswith(
            f"{metric}|sha256:{open_package(str(tiny_evaluator)).digest}|"
        )
    mixed = Some(meaning="org/some", model=str(tiny_evaluator))
    assert [package.name for package in mixed.packages()] == [str(tiny_evaluator), "org/some"]
    assert open_package("org/some").datasets == ("none",)
    head = load_metric("head(model='org/some', name='fluency')").score(SOURCES, HYPOTHESES)
    assert head.sentences == pytest.approx(
        Evaluator.load("org/some").predict(SOURCES, HYPOTHESES)["fluency"], abs=1e-9
    )


def test_what_the_cache_holds_is_used_without_a_question(hub: Hub, tiny_evaluator: Path) -> None:
    hub.put_folder("org/some", tiny_evaluator)
    before = open_package("org/some").digest
    asked = len(hub.asked)
    loaded = [path for verb, path in hub.asked if verb == "GET" and "/resolve/" in path]
    assert len(loaded) == len(set(loaded)) == len(list(tiny_evaluator.iterdir()))
    assert is_evaluator("org/some")
    assert open_package("org/some").digest == before
    assert len(hub.asked) == asked


def test_a_revision_is_pinned_and_pull_fetches_what_is_there_now(
    hub: Hub, tiny_evaluator: Path, tmp_path: Path
) -> None:
    first = hub.put_folder("org/some", tiny_evaluator)
    old = open_package("org/some").digest
    other = tiny.save_evaluator(tmp_path / "other", seed=1)
    second = hub.put_folder("org/some", other)
    assert open_package("org/some").digest == old
    assert open_package(f"org/some@{second}").digest == open_package(str(other)).digest != old
    pull_evaluator("org/some")
    assert open_package("org/some").digest == open_package(str(other)).digest
    assert open_package(f"org/some@{first}").digest == old


def test_a_model_that_is_replaced_while_it_is_fetched_is_of_one_commit(
    hub: Hub, tiny_regressor: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = [hub.put_folder("org/quality", tiny_regressor)]
    read = Handler.read

    def pushed(self: Handler, name: str, revision: str, kind: str, body: bytes | None) -> None:
        # Before the last file, somebody pushes another model.
        if kind == "model.safetensors" and len(commits) == 1:
            commits.append(hub.put_folder("org/quality", tiny_encoder))
        read(self, name, revision, kind, body)

    monkeypatch.setattr(Handler, "read", pushed)
    snapshots = Path(constants.HF_HUB_CACHE) / "models--org--quality" / "snapshots"
    # The next time, the new model is fetched, whole as well.
    for number, model in enumerate((tiny_regressor, tiny_encoder)):
        load_tokenizer("org/quality")
        fetched = snapshots / commits[number]
        assert {file.name: file.read_bytes() for file in fetched.iterdir()} == {
            file.name: file.read_bytes() for file in model.iterdir()
        }


def test_only_the_files_of_the_manifest_are_taken(hub: Hub, tiny_evaluator: Path) -> None:
    files = {file.name: file.read_bytes() for file in tiny_evaluator.iterdir()}
    # A card that was edited on the hub, and a file that its manifest does not know.
    files |= {"README.md": b"# Another card\n", "modeling.py": b"raise SystemExit\n"}
    hub.put("org/some", files)
    folder = find_evaluator("org/some")
    check_package(folder)
    assert (folder / "README.md").read_text() == "# Another card\n"
    assert not (folder / "modeling.py").exists()
    assert open_package("org/some").digest == open_package(str(tiny_evaluator)).digest


def test_a_name_in_a_manifest_fetches_no_file_from_elsewhere(
    hub: Hub, tiny_evaluator: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(tiny_evaluator, tmp_path / "copy"))
    files = json.loads((copy / "manifest.json").read_text())["files"]
    tiny.sign(copy, files=files | {"../../secret": "0" * 64})
    hub.put_folder("org/some", copy)
    with pytest.raises(PackageError, match=r"secret' is missing, or is not what a package has"):
        find_evaluator("org/some")


def test_a_classifier_on_the_hub_is_no_evaluator(hub: Hub, tiny_regressor: Path) -> None:
    hub.put_folder("org/quality", tiny_regressor)
    assert not is_evaluator("org/quality")
    assert is_evaluator("org/nothing") is False
    assert Impara(quality="org/quality").packages() == ()
    for name in ("org/quality", "org/nothing", "org/quality@nowhere"):
        with pytest.raises(
            ModelError, match=f"the hub refused {name!r} .*NotFoundError: .*; check"
        ):
            find_evaluator(name)


def test_pinned_models_are_loaded_from_the_cache(
    hub: Hub, tiny_regressor: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = hub.put_folder("org/quality", tiny_regressor)
    hub.put("org/quality", {"config.json": b"{}"})
    pinned = f"org/quality@{commit}"
    quality = Impara(quality=pinned, similarity=str(tiny_encoder))
    first = quality.score(SOURCES, HYPOTHESES).sentences
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    metric = Impara(quality=pinned, similarity=str(tiny_encoder))
    assert metric.score(SOURCES, HYPOTHESES).sentences == pytest.approx(first, abs=1e-9)
    expected = Impara(quality=str(tiny_regressor), similarity=str(tiny_encoder))
    assert metric.score(SOURCES, HYPOTHESES).sentences == pytest.approx(
        expected.score(SOURCES, HYPOTHESES).sentences, abs=1e-9
    )
    assert f"|sha256:{checkpoint_digest(pinned)}|" in bind_one(metric).signature()
    assert len(checkpoint_digest(pinned)) == 12
    assert load_tokenizer(pinned).model_max_length == 256


def test_a_hub_that_is_away_is_one_sentence(
    hub: Hub, tiny_evaluator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.put_folder("org/some", tiny_evaluator)
    hub.shutdown()
    hub.server_close()
    with pytest.raises(ModelError, match="not in the local cache and the hub cannot be reached"):
        Evaluator.load("org/some")
    with pytest.raises(ModelError, match="the hub cannot be reached"):
        pull_evaluator("org/some")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="not in the local cache and HF_HUB_OFFLINE is set"):
        Evaluator.load("org/some")
    with pytest.raises(ModelError, match="nothing can be sent to 'org/some': HF_HUB_OFFLINE is se"):
        push_evaluator(str(tiny_evaluator), "org/some")
    assert not is_evaluator("org/some")


def test_pushed_and_pulled_it_is_the_same(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heads = {"quality": HeadConfig("hypothesis", 0.2, 1.5)}
    package = tiny.save_evaluator(tmp_path / "mine", heads=heads, datasets=("tmu-gfm", "gug:train"))
    hub.put("org/mine", {"old.bin": b"of another package", ".gitattributes": b"kept"})
    assert main(["evaluators", "push", str(package), "org/mine"]) == 0
    pushed = capsys.readouterr().out.strip()
    assert pushed == f"org/mine@{hub.branches['org/mine']['main']}"
    uploaded = hub.commits["org/mine"][pushed.partition("@")[2]]
    assert uploaded.keys() == {file.name for file in package.iterdir()} | {".gitattributes"}
    assert uploaded["model.safetensors"] == (package / "model.safetensors").read_bytes()
    name = json.loads((package / "manifest.json").read_text())["name"]
    assert hub.messages == [f"{name}, an evaluator by learnedgec"]

    digest = open_package(str(package)).digest
    assert main(["evaluators", "pull", pushed, "--out", str(tmp_path / "here")]) == 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'here' / 'mine'}\n"
    assert f"sha256:{digest}" in err
    assert open_package(str(tmp_path / "here" / "mine")).digest == digest
    assert open_package(pushed).digest == digest
    assert pull_evaluator("org/mine").name == pushed.partition("@")[2]
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tmp_path / "here"))
    quality = Quality(model="mine").score(SOURCES, HYPOTHESES).sentences
    assert Quality(model=pushed).score(SOURCES, HYPOTHESES).sentences == pytest.approx(quality)


def test_a_new_repository_is_made_private(hub: Hub, tiny_evaluator: Path) -> None:
    pushed = push_evaluator(str(tiny_evaluator), "org/new", private=True)
    assert hub.private == ["org/new"]
    check_package(find_evaluator(pushed))


def test_an_evaluator_is_saved_and_pushed_under_the_names_that_transformers_has(
    hub: Hub, tiny_evaluator: Path, tmp_path: Path
) -> None:
    evaluator = Evaluator.from_pretrained(tiny_evaluator)
    saved = evaluator.save_pretrained(tmp_path / "saved")
    pushed = evaluator.push_to_hub("org/some", private=True)
    assert hub.private == ["org/some"]
    expected = evaluator.predict(SOURCES, HYPOTHESES)
    for name in (saved, pushed):
        again = Evaluator.from_pretrained(name)
        assert again.digest == evaluator.digest
        for head, values in again.predict(SOURCES, HYPOTHESES).items():
            assert values == pytest.approx(expected[head], abs=1e-6)
    assert repr(evaluator).startswith("Evaluator('tiny', outputs=['")
    with pytest.raises(InputError, match="has no package; training writes one"):
        Evaluator(evaluator.model, evaluator.tokenizer).save_pretrained(tmp_path / "other")


def test_who_may_not_write_is_told_so(
    hub: Hub, tiny_evaluator: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.token = "another"
    assert main(["evaluators", "push", str(tiny_evaluator), "org/mine"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("learnedgec evaluators: the hub refused 'org/mine'")
    assert "log in with `hf auth login` or set HF_TOKEN" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["mine", "./org/mine"])
def test_what_is_no_repository_is_refused(name: str, tiny_evaluator: Path) -> None:
    message = "not the name of a repository on a hub; a name such as org/"
    with pytest.raises(BadNameError, match=message):
        push_evaluator(str(tiny_evaluator), name)
    with pytest.raises(BadNameError, match=message):
        pull_evaluator(name)


def test_a_damaged_package_is_not_pushed(hub: Hub, tiny_evaluator: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(tiny_evaluator, tmp_path / "copy"))
    (copy / "tokenizer.json").write_text("{}")
    with pytest.raises(PackageError, match=r"tokenizer\.json was altered"):
        push_evaluator(str(copy), "org/mine")
    assert hub.asked == []

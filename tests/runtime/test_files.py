"""Files and folders appear whole or not at all, and what is no regular file is written through."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from learnedgec.data.text import write_text
from learnedgec.errors import OutputError
from learnedgec.runtime.files import atomic_folder, atomic_path, check_writable


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_path(path) as temporary:
        temporary.write_text(f"new {1 // 0}")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["f.txt"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_device_is_written_through() -> None:
    check_writable("/dev/null")
    write_text("/dev/null", "text")
    with pytest.raises(OutputError, match="No space left on device"):
        write_text("/dev/full", "text")


def test_links_stay_and_their_targets_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    target, link, chain = tmp_path / "to" / "target", tmp_path / "link", tmp_path / "chain"
    link.symlink_to(target)
    chain.symlink_to("link")
    for text in ("made", "replaced"):
        write_text(chain, text)
        assert (target.read_text(), names(tmp_path / "to")) == (text, ["target"])
    assert chain.is_symlink()
    assert link.is_symlink()


def test_a_file_keeps_its_mode_and_a_new_one_gets_the_umask_s(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.touch(0o600)
    write_text(private, "text")
    assert mode(private) == 0o600
    for umask, expected in ((0o022, 0o644), (0o077, 0o600)):
        before = os.umask(umask)
        try:
            write_text(tmp_path / f"new{umask}", "text")
        finally:
            os.umask(before)
        assert mode(tmp_path / f"new{umask}") == expected


def test_a_check_makes_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "a" / "b" / "c.txt")
    assert names(tmp_path) == []
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="Not a directory"):
        check_writable(tmp_path / "file" / "c.txt")
    write_text(tmp_path / "a" / "b" / "c.txt", "text")
    assert names(tmp_path / "a" / "b") == ["c.txt"]


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    for content in ("one", "two"):
        with atomic_folder(tmp_path / "package") as folder:
            (folder / content).touch()
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "package"):
        raise ZeroDivisionError
    assert names(tmp_path / "package") == ["two"]
    assert names(tmp_path) == ["package"]
    # What cannot take the place of the former folder leaves it there.
    with pytest.raises(OutputError), atomic_folder(tmp_path / "package") as folder:
        folder.rmdir()
    assert names(tmp_path / "package") == ["two"]
    assert names(tmp_path) == ["package"]

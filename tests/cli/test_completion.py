"""The script for completion in a shell knows every command, and names of metrics, benchmarks and files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from learnedgec.cli.commands import COMMANDS

pytest.importorskip("shtab", reason="shtab is not installed")


def completed(script: str, *words: str) -> set[str]:
    """Return what bash offers for the last of the words."""
    line = " ".join(["learnedgec", *words])
    program = f"""
{script}
COMP_WORDS=({line} {"" if words[-1] else '""'}); COMP_CWORD={len(words)}
COMP_LINE="{line}"; COMP_POINT=${{#COMP_LINE}}
_shtab_learnedgec; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    return {word.strip() for word in done.stdout.splitlines()}


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_options_and_names(run: Any, tmp_path: Path) -> None:
    script = run("--print-completion bash").out
    assert completed(script, "") >= set(COMMANDS)
    assert completed(script, "sco") == {"score"}
    assert completed(script, "score", "--metr") == {"--metric"}
    assert completed(script, "score", "--metric", "err") == {"errant"}
    assert completed(script, "meta", "--benchmark", "gme") == {"gmeg"}
    assert completed(script, "robust", "att") == {"attack"}
    assert completed(script, "train", "--for", "pa") == {"pairs", "parallel"}
    (tmp_path / "mine.yaml").touch()
    assert completed(script, "train", "--config", "mi") == {"mine.yaml"}


def test_another_shell_is_refused(run: Any) -> None:
    assert "no shell 'nushell'; name one of bash, " in run("--print-completion nushell", code=2).err

"""Sphinx extension: writes the reference from the code, so that nothing is copied by hand.

At the start of a build it writes these git-ignored pages below `docs/reference`:

- `api/`: one page per public module; the content comes from docstrings (autodoc).
- `cli/`: one page per command, from the parser that the command itself uses.
- `configuration/`: the keys of a training configuration, from the same parser and from signatures.
- `metrics/`: one card per metric, from `learnedgec.metrics.cards`.

A page is rewritten only if its text has changed, so the next build is incremental.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
import io
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import jsonargparse
from docstring_parser import parse as parse_docstring
from sphinx.application import Sphinx

import learnedgec
from learnedgec.cli.commands import COMMANDS, GROUPS, SUBCOMMANDS, find_command
from learnedgec.metrics.cards import MetricCard, bibtex, cards, load_card
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.registry import metric_class

__all__ = ["setup"]


class Pages:
    """The generated pages: written where they changed, removed where nothing writes them any more."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: set[Path] = set()

    def write(self, name: str, text: str) -> None:
        """Write a page unless it has this text already."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.written.add(path)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    def clear(self, *folders: str) -> None:
        """Remove pages in these folders that this build has not written."""
        for folder in folders:
            for path in (self.folder / folder).glob("*.md"):
                if path not in self.written:
                    path.unlink()


def escape(text: str) -> str:
    """Return text with the characters escaped that Markdown would read, except inside backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\*_<>\[\]|$#`])", r"\\\1", part)
        for part in parts
    )


def sentence(text: str) -> str:
    """Return a text with a capital at its start, unless a name stands there."""
    first = re.match(r"[a-z]+(?=[ ,;]|$)", text)
    return text[:1].upper() + text[1:] if first else text


def toctree(entries: Sequence[str], *, caption: str = "") -> str:
    """Return a hidden table of contents."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["```{toctree}", *options, "", *entries, "```"]) + "\n"


# -- the API -----------------------------------------------------------------------------------

# Commands have a reference of their own.
_NOT_PUBLIC = ("learnedgec.cli", "learnedgec.__main__", "learnedgec._version")


def public_modules() -> Iterator[str]:
    """Yield every module that defines or exports names without an underscore, but those of commands."""
    for found in pkgutil.walk_packages(learnedgec.__path__, "learnedgec."):
        if found.name.startswith(_NOT_PUBLIC):
            continue
        if public_names(importlib.import_module(found.name)):
            yield found.name


def public_names(module: Any) -> list[str]:
    """Return the names that a module exports, or else those of its own functions and classes.

    Those of a package's modules that the package imports are its own too.
    """
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and f"{getattr(value, '__module__', '')}.".startswith(f"{module.__name__}.")
    ]
    return list(getattr(module, "__all__", own))


def write_api(pages: Pages) -> None:
    """Write a page for the top-level names, one per folder of the package, and one per module."""
    top = {name: getattr(learnedgec, name) for name in learnedgec.__all__ if name != "__version__"}
    kinds = {
        "Functions": [name for name, value in top.items() if inspect.isfunction(value)],
        "Classes": [name for name, value in top.items() if inspect.isclass(value)],
    }
    lines = [
        "# `learnedgec`",
        "",
        "The names that a program needs most; `import learnedgec` is enough.",
    ]
    for title, names in kinds.items():
        directive = "autofunction" if title == "Functions" else "autoclass"
        lines += ["", f"## {title}", "", "```{eval-rst}"]
        for name in names:
            lines += [f".. {directive}:: learnedgec.{name}"]
            lines += ["   :members:"] if title == "Classes" else []
            lines += [""]
        lines += ["```"]
    pages.write("api/learnedgec.md", "\n".join(lines) + "\n")

    rooms: dict[str, list[str]] = {}
    for module in public_modules():
        rooms.setdefault(".".join(module.split(".")[:2]), []).append(module)
    for room, modules in rooms.items():
        inner = [module for module in modules if module != room]
        text = f"# `{room}`\n\n{_automodule(room, top)}"
        if inner:
            text += "\n| module | what it holds |\n| --- | --- |\n"
            text += "".join(
                f"| {{py:mod}}`{each}` | {escape(_summary(each))} |\n" for each in inner
            )
        text += "".join(f"\n## `{each}`\n\n{_automodule(each, top)}" for each in inner)
        pages.write(f"api/{room}.md", text)
    text = (
        "# Python API\n\nEvery public module, folder by folder. The names that a program needs most are at the "
        "top level.\n\n| module | what it holds |\n| --- | --- |\n"
    )
    text += "| [`learnedgec`](learnedgec.md) | the top-level names |\n"
    text += "".join(f"| [`{each}`]({each}.md) | {escape(_summary(each))} |\n" for each in rooms)
    pages.write("api/index.md", text + "\n" + toctree(["learnedgec", *rooms]))


def _automodule(module: str, top: dict[str, Any]) -> str:
    """Return the directive for a module; what is documented at the top level is not repeated."""
    found = importlib.import_module(module)
    names = public_names(found)
    repeated = [
        name for name in names if top.get(name) is getattr(found, name) or _elsewhere(found, name)
    ]
    lines = ["```{eval-rst}", f".. automodule:: {module}"]
    if names:
        lines += ["   :members:"]
    if repeated:
        lines += [f"   :exclude-members: {', '.join(repeated)}"]
    lines += ["```", ""]
    documented = [name for name in repeated if name in top and top[name] is getattr(found, name)]
    if documented:
        links = ", ".join(f"{{py:obj}}`learnedgec.{name}`" for name in documented)
        lines += [f"At the top level: {links}.", ""]
    return "\n".join(lines)


def _elsewhere(module: Any, name: str) -> bool:
    """Return whether a module's public name is documented where it is defined: in another public module."""
    home = getattr(getattr(module, name), "__module__", module.__name__)
    if home == module.__name__ or not str(home).startswith("learnedgec."):
        return False
    return name in public_names(importlib.import_module(home))


def _summary(module: str) -> str:
    """Return the first line of a module's docstring."""
    return (
        (inspect.getdoc(importlib.import_module(module)) or "").split("\n\n")[0].replace("\n", " ")
    )


# -- commands ----------------------------------------------------------------------------------


class _Found(BaseException):
    """Carries a parser out of the command that was about to print its help."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


_HELP = ("--help-all", "--help")

# The keys of Lightning's own classes that the pages show; `--help-all` lists every one.
_OF_LIGHTNING = (
    *("max_epochs", "max_steps", "max_time", "accelerator", "devices", "precision"),
    *("accumulate_grad_batches", "every_n_train_steps", "train_time_interval", "patience"),
)


def _shown(group: argparse._ArgumentGroup) -> list[argparse.Action]:
    """Return a group's options, without those for a whole group and most of Lightning's."""
    kept = []
    for action in group._group_actions:
        prefix, _, key = action.dest.rpartition(".")
        lightnings = prefix in ("trainer", "best", "last", "early_stopping")
        whole = action.dest in ("model", "data", "trainer", "best", "last", "early_stopping")
        hidden = action.help is argparse.SUPPRESS or whole or key == "help"
        if not hidden and (not lightnings or (key in _OF_LIGHTNING and prefix != "best")):
            kept.append(action)
    return kept


def parser_of(command: Callable[[Sequence[str]], object]) -> argparse.ArgumentParser:
    """Return the parser with which a command answers `--help-all`, or `--help` if it has no more."""

    def give(parser: argparse.ArgumentParser) -> str:
        raise _Found(parser)

    with (
        mock.patch.object(jsonargparse.ArgumentParser, "format_help", give),
        mock.patch.object(argparse.ArgumentParser, "format_help", give),
    ):
        try:
            with redirect_stdout(io.StringIO()):
                command([*_HELP])
        except _Found as found:
            return found.parser
    raise AssertionError(f"{command.__name__} printed no help")


def write_commands(pages: Pages) -> None:
    """Write a page for each command, with its subcommands."""
    rows = []
    for name, summary in COMMANDS.items():
        rows.append(f"| [`learnedgec {name}`]({name}.md) | {escape(summary)} |\n")
        text = f"# `learnedgec {name}`\n\n"
        if name in GROUPS:
            text += f"{escape(summary[0].upper() + summary[1:])}.\n\n"
        else:
            text += _command(parser_of(find_command(name)), name, level=1)
        for each in SUBCOMMANDS.get(name, ()):
            inner = f"{name} {each}"
            text += _command(parser_of(find_command(inner)), inner, level=2)
        pages.write(f"cli/{name}.md", text)
    text = (
        "# Command line\n\n`learnedgec COMMAND --help-all` prints the same as these pages, which are made from "
        "the same parsers; `--help` shows the options that most need. Exit codes: 0 done, 1 a gate of `compare` "
        "failed or a part of a corpus could not be scored, 2 bad input, 130 interrupted. `--debug` after the "
        "command shows the traceback of an error.\n\n| command | what it does |\n| --- | --- |\n"
    )
    pages.write("cli/index.md", text + "".join(rows) + "\n" + toctree(list(COMMANDS)))


def _command(parser: argparse.ArgumentParser, name: str, *, level: int) -> str:
    """Return a command's description, usage and options."""
    text = "" if level == 1 else f"{'#' * level} `learnedgec {name}`\n\n"
    text += escape(" ".join((parser.description or "").split())) + "\n\n"
    indent = len("usage: ")
    usage = "\n".join(line[indent:] for line in parser.format_usage().rstrip().splitlines())
    text += f"```text\n{usage}\n```\n\n"
    for group in parser._action_groups:
        actions = [each for each in _shown(group) if not isinstance(each, argparse._HelpAction)]
        if not actions or any(isinstance(each, argparse._SubParsersAction) for each in actions):
            continue
        title = (group.title or "options").removesuffix(":")
        text += f"{'#' * (level + 1)} {escape(title[:1].upper() + title[1:])}\n\n"
        if group.description and "More details" not in group.description:
            text += escape(group.description) + "\n\n"
        text += "".join(_option(action) for action in actions)
    return text


def _option(action: argparse.Action) -> str:
    """Return one option as an entry of a definition list."""
    if action.option_strings:
        value = "" if action.nargs == 0 else " " + _metavar(action)
        term = ", ".join(action.option_strings) + value.rstrip()
    else:
        term = _metavar(action)
    said = escape(" ".join(str(action.help or "").replace("%%", "%").split())).rstrip(".")
    found = [f"{sentence(said)}."] if said else []
    default = _default(action)
    if default and "default:" not in said:
        found.append(f"Default: `{default}`.")
    return f"`{term}`\n: {' '.join(found) or 'No description.'}\n\n"


def _metavar(action: argparse.Action) -> str:
    """Return what stands for an option's value."""
    if action.choices is not None:
        one = "{" + ",".join(map(str, action.choices)) + "}"
    elif isinstance(action.metavar, str):
        one = action.metavar
    else:
        one = action.dest.rpartition(".")[2].upper()
        kind = getattr(action, "_typehint", None)
        choices = re.fullmatch(r"typing\.Literal\[(.*)\]", str(kind))
        if choices:
            one = "{" + choices[1].replace("'", "").replace(", ", ",") + "}"
    return {"+": f"{one} [{one} ...]", "*": f"[{one} ...]", "?": f"[{one}]"}.get(
        str(action.nargs), one
    )


def _default(action: argparse.Action) -> str:
    """Return an option's default as text; empty where there is none worth saying."""
    default = action.default
    if (
        default is None
        or default is argparse.SUPPRESS
        or default is False
        or default in ([], {}, "")
    ):
        return ""
    if isinstance(default, list):
        return " ".join(map(str, default))
    return str(default)


# -- configurations ----------------------------------------------------------------------------


def write_configuration(pages: Pages) -> None:
    """Write the keys of a training configuration, and the pair sources."""
    from learnedgec.cli.train import run_train
    from learnedgec.training.module import HeadOptions
    from learnedgec.training.pairs import REGISTRY, PairSource

    parser = parser_of(run_train)
    text = (
        "# Training configuration\n\nThe keys of a YAML file for `learnedgec train --config FILE`. A dot is a level "
        "of the file: `model.encoder` is the key `encoder` below `model`. Any key can be given on the command line as "
        "well (`--model.encoder NAME`). `learnedgec train --init FILE` writes a file to start from, and "
        "[Train on your own data](../../how-to/own-data.md) walks through one. `learnedgec train --help-all` lists the "
        "remaining keys, which are Lightning's own.\n\n"
    )
    for group in parser._action_groups:
        skipped = ("help", "config", "print_config")
        actions = [each for each in _shown(group) if each.dest not in skipped]
        if not actions:
            continue
        title = str(group.title)
        text += f"## {escape(title[:1].upper() + title[1:])}\n\n"
        text += "".join(_key(action) for action in actions)
        if any(action.dest == "model.heads" for action in actions):
            text += f"### Each of `model.heads`\n\n{_fields(HeadOptions)}\n"
    pages.write("configuration/training.md", text)

    text = (
        "# Pair sources\n\nWhat stands below `data.pairs.HEAD` in a training configuration: a list of files, or of "
        "classes with their parameters (`class_path`, `init_args`). Every class here is a {py:class}`PairSource "
        f"<{PairSource.__module__}.{PairSource.__qualname__}>`; other packages add their own.\n\n"
    )
    for name, entry in REGISTRY.entries():
        if isinstance(entry, Exception):
            continue
        said = parse_docstring(inspect.getdoc(entry) or "")
        text += f"## `{name}`\n\n{escape(said.short_description or '')}\n\n{_fields(entry)}\n"
        text += f"The whole description: {{py:class}}`{entry.__module__}.{entry.__qualname__}`.\n\n"
    pages.write("configuration/pairs.md", text)


def _key(action: argparse.Action) -> str:
    """Return one key of a configuration as an entry of a definition list."""
    said = escape(" ".join(str(action.help or "").replace("%%", "%").split())).rstrip(".")
    kind = re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", _type(action))
    text = f"`{action.dest}`\n: {sentence(said)}.\n"
    facts = [f"Type: `{kind}`"] if kind else []
    if getattr(action, "required", False):
        facts.append("required")
    elif _default(action):
        facts.append(f"default: `{_default(action)}`")
    return text + (f"  {'; '.join(facts)}.\n\n" if facts else "\n")


def _type(action: argparse.Action) -> str:
    """Return the annotation of a key as a reader writes it."""
    kind = getattr(action, "_typehint", None) or action.type
    if kind is None:
        return "bool" if action.nargs == 0 else ""
    return inspect.formatannotation(kind).replace("NoneType", "None")


def _fields(kind: type) -> str:
    """Return the parameters of a class as a definition list."""
    described = {
        each.arg_name: each.description or ""
        for each in parse_docstring(inspect.getdoc(kind) or "").params
    }
    text = ""
    for name, parameter in inspect.signature(kind).parameters.items():
        annotation = parameter.annotation
        shown = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        required = parameter.default is inspect.Parameter.empty
        said = escape(" ".join(described.get(name, "").split())).rstrip(".")
        text += f"`{name}`\n: {sentence(said) or 'No description'}.\n"
        text += (
            f"  Type: `{shown}`; "
            + ("required" if required else f"default: `{parameter.default!r}`")
            + ".\n\n"
        )
    return text


# -- metric cards ------------------------------------------------------------------------------

# Learned metrics whose figures stand with the evaluator behind them.
_RELEASED = ("some", "quality", "preference")


def write_cards(pages: Pages) -> None:
    """Write a card per metric, and a table of all of them."""
    text = (
        "# Metrics\n\nOne card per metric. Higher is better for all of them. `learnedgec metrics NAME` shows a card in "
        "the terminal, and `learnedgec metrics NAME --cite` prints what to cite.\n\n| metric | inputs | languages | "
        "cost |\n| --- | --- | --- | --- |\n"
    )
    for name in cards():
        card = load_card(name)
        row = [f"[`{name}`]({name}.md)", *map(escape, (card.inputs, card.languages, card.cost))]
        text += f"| {' | '.join(row)} |\n"
        pages.write(f"metrics/{name}.md", _card(card))
    pages.write("metrics/index.md", text + "\n" + toctree(cards()))


def parameter_meanings(kind: type[Metric]) -> dict[str, str]:
    """Return what a metric's parameters mean; those that it inherits may be described by a base."""
    return {
        parameter.arg_name: " ".join((parameter.description or "").split())
        for base in reversed(kind.__mro__)
        if issubclass(base, Metric)
        for parameter in parse_docstring(base.__doc__ or "").params
    }


def _card(card: MetricCard) -> str:
    """Return a metric's page."""
    kind = metric_class(card.name)
    text = f"# `{card.name}`\n\n{escape(card.measures)}\n\n| | |\n| --- | --- |\n"
    text += "".join(f"| {key} | {escape(value)} |\n" for key, value in card.frame.items())
    text += "\n## Known failures\n\n"
    for failure in card.failures:
        text += f"- {escape(failure['text'])}\n"
        facts = ("source", "hypothesis", "reference", "score")
        shown = [f"{key:10}  {failure[key]}" for key in facts if key in failure]
        if shown:
            text += "\n" + "".join(f"      {line}\n" for line in shown) + "\n"
    text += "\n## Agreement with people\n\n"
    if card.agreement:
        text += (
            "Correlation with human scores of systems, `value [95 % interval over systems] [over sentences]`, and what is "
            "measured on sentences, with the interval over sentences. From [the leaderboard]"
            "(../../leaderboard.md), which says what each column is and has the other metrics beside this one.\n\n"
            "| benchmark | people's score | metric | r | ρ | on sentences |\n| --- | --- | --- | --- | --- | --- |\n"
        )
        for each in card.agreement:
            names = [f"`{each[key]}`" for key in ("benchmark", "human", "metric")]
            text += f"| {' | '.join([*names, each['r'], each['rho'], each['sentences']])} |\n"
    elif card.name in _RELEASED:
        text += "See [the released evaluator](../../released-evaluators.md).\n"
    else:
        text += "Not on [the leaderboard](../../leaderboard.md).\n"
    fields = dataclasses.fields(kind)
    text += "\n## Parameters\n\n" if fields else ""
    meanings = parameter_meanings(kind)
    for field in fields:
        # The value of a default factory depends on the installation; the parameter's meaning explains it.
        default = f"; default: `{field.default!r}`"
        if field.default is dataclasses.MISSING:
            default = "; required" if field.default_factory is dataclasses.MISSING else ""
        meaning = escape(meanings[field.name]).rstrip(".")
        text += f"`{field.name}`\n: {sentence(meaning)}{default}.\n\n"
    text += (
        "\n## Definition\n\nFormula, deviations from the official code, source and an example.\n\n"
    )
    text += f"```{{eval-rst}}\n.. autoclass:: {kind.__module__}.{kind.__qualname__}\n   :no-index:\n```\n"
    return text + f"\n## Citation\n\n```bibtex\n{bibtex([card.name])}```\n"


# -- docstrings --------------------------------------------------------------------------------

# A section of a Google-style docstring, which napoleon reads: what is indented below it is no code.
_SECTION = re.compile(r"(Args|Attributes|Example|Raises|Returns|Yields):$")


def process_docstring(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Read a docstring as its authors write it: an indented block is code, a star or a bar is itself.

    They are written for terminals, so they have no reST markup but backticks, lists and napoleon's sections.
    """
    if what in ("data", "attribute") and inspect.getdoc(obj) == "\n".join(lines).strip():
        lines.clear()  # what `str` or `tuple` says of itself
        return
    if what in ("data", "attribute"):
        # Napoleon would read what stands before a colon as a type.
        lines[:] = [re.sub(r"`([^`]+)`", r"``\1``", line) for line in lines]
        return
    found: list[str] = []
    code, section = False, False
    for number, line in enumerate(lines):
        indented = line.startswith("    ")
        if line.strip() and not indented:
            section = bool(_SECTION.match(line))
            code = False
        elif indented and not section and not code and not _continues(lines, number):
            found += ["::", ""]
            code = True
        if line.startswith("- ") and number and _is_prose(lines[number - 1]):
            found.append("")
        found.append(line if code or line.lstrip().startswith((">>>", "...")) else _literal(line))
    lines[:] = found


_NAME = re.compile(r"[A-Za-z_][\w.]*(\(\))?")


def _literal(line: str) -> str:
    """Return a line whose stars, bars and underscores are no markup; `names`, *one* and **two** stay.

    What stands between backticks and is no name becomes a literal.
    """
    parts = re.split(r"(`[^`]*`|\*\*[^*]+\*\*|(?<!\w)\*\w[^*]*\w\*(?!\w))", line)
    found = []
    for number, part in enumerate(parts):
        if number % 2 == 0:
            found.append(re.sub(r"([*|]|(?<=\w)_(?!\w))", r"\\\1", part))
        elif part.startswith("`") and not _NAME.fullmatch(part.strip("`")):
            found.append(f"`{part}`")
        else:
            found.append(part)
    return "".join(found)


def _is_prose(line: str) -> bool:
    """Return whether a line is one of a paragraph, not of a list."""
    return bool(line.strip()) and not line.startswith(("- ", " "))


def _continues(lines: Sequence[str], number: int) -> bool:
    """Return whether an indented line belongs to the text above it: there is no blank line between."""
    return number > 0 and bool(lines[number - 1].strip())


def generate(app: Sphinx) -> None:
    """Write every generated page."""
    pages = Pages(Path(app.srcdir) / "reference")
    write_api(pages)
    write_commands(pages)
    write_configuration(pages)
    write_cards(pages)
    pages.clear("api", "cli", "configuration", "metrics")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("builder-inited", generate)
    app.connect("autodoc-process-docstring", process_docstring, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}

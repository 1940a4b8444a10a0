"""Included configurations by name, such as `some-mini`, and what users understand of the parser's errors."""

from __future__ import annotations

import difflib
import inspect
import itertools
import pkgutil
import re
from argparse import ArgumentError
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import ArgumentParser

from learnedgec.data.text import read_text
from learnedgec.errors import ConfigError, LearnedgecError, UnknownNameError
from learnedgec.runtime.files import included_folder, local_path
from learnedgec.runtime.plugins import Registry


def configurations() -> dict[str, Path]:
    """Return the included configurations by name: the same in a checkout and installed.

    Example:
        >>> sorted(configurations())[:3]
        ['impara', 'impara-consistent', 'impara-mini']
    """
    folder = included_folder("configs", "configs")
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in sorted(folder.rglob("*.yaml"))
    }


def with_configurations(arguments: Sequence[str]) -> list[str]:
    """Return a command's arguments with each name of an included configuration replaced by its file.

    A value of `--config` is a file if the file exists, YAML if it has a colon, and otherwise a name.

    Raises:
        UnknownNameError: no included configuration has the name; the message suggests the nearest.
        ConfigError: the file is not YAML, or holds no key.
        InputError: it is not UTF-8.
    """
    words = list(arguments)
    for place, word in enumerate(words):
        if word == "--config" and place + 1 < len(words):
            words[place + 1] = _configuration(words[place + 1])
        elif word.startswith("--config="):
            words[place] = "--config=" + _configuration(word.partition("=")[2])
    return words


def _configuration(value: str) -> str:
    """Return the file that a value of `--config` names, or the value itself, which the parser checks."""
    path = local_path(value)
    if path is not None and path.is_file():
        try:
            content = yaml.safe_load(read_text(path))
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            place = f"{value}:{mark.line + 1}" if mark else value
            raise ConfigError(f"{place}: not YAML ({getattr(error, 'problem', error)}).") from None
        if not isinstance(content, dict):
            raise ConfigError(f"{value} holds no key; a configuration in YAML was expected.")
        return value
    # The value may also be YAML itself, which has a colon.
    if not value or ":" in value or value.startswith("-"):
        return value
    included = configurations()
    if value not in included:
        # Subfolders hold single experiments, which are suggested only for a name with a folder.
        candidates = [name for name in included if "/" not in name or "/" in value]
        raise UnknownNameError("file or configuration", value, candidates)
    return str(included[value])


# The names that other tools give to these options.
_OTHER_NAMES = {
    "--confidence": "--alpha",
    "--resamples": "--bootstrap",
    "--hyp": "--candidates --cor --hypotheses --hypothesis --input --outputs --predictions --system "
    "--systems -i -t",
    "--gold": "--m2",
    "--keep": "--confidence --min-confidence --threshold",
    "--margin": "--tolerance",
    "--src": "--orig --source --sources",
    "--ref": "--reference --references --reference-files",
}
_OTHER_NAMES = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}

# The names that transformers, sentence-transformers and SetFit give to keys of a training configuration, and
# to arguments of `learnedgec.train`.
OTHER_KEYS = {
    "ratings": "train_dataset train_data dataset df examples",
    "output": "output_dir output_path save_path",
    "encoder": "model_name model_name_or_path base_model pretrained pretrained_model_name_or_path",
    "heads": "labels label_columns targets dimensions",
    "columns": "column_mapping",
    "seed_everything": "seed random_state",
    "resume": "resume_from_checkpoint",
    "overwrite": "overwrite_output_dir",
    "max_epochs": "epochs num_epochs num_train_epochs",
    "accumulate_grad_batches": "gradient_accumulation_steps",
    "gradient_clip_val": "max_grad_norm",
    "accelerator": "device use_cpu",
    "precision": "bf16 fp16 use_amp",
    "learning_rate": "lr body_learning_rate head_learning_rate",
    "warmup": "warmup_steps warmup_ratio warmup_proportion",
    "schedule": "scheduler lr_scheduler_type",
    "batch_size": "train_batch_size per_device_train_batch_size",
    "split": "eval_dataset validation_data test_size",
    "patience": "early_stopping_patience",
}
OTHER_KEYS = {other: key for key, others in OTHER_KEYS.items() for other in others.split()}

# Hints about options that differ from other tools' options in more than the name.
_DIFFERENCES = {"--alpha": "--confidence 0.95 tests at a level of 0.05."}

# A name is taken for a mistyped one from this similarity on; below it, a suggestion would mislead.
_MISTYPED = 0.75

# An option of a command -> the advice about words without an option; the first option counts.
_ADVICE = {
    "--hyp": "name sources with --src and system outputs with --hyp",
    "--benchmark": "name benchmarks with --benchmark",
    "--metric": "name metrics with --metric",
    "--data.columns": "name the configuration with --config",
}


def check_arguments(arguments: Sequence[str], parser: ArgumentParser) -> None:
    """Raise for arguments that the parser would understand otherwise than the user.

    Raises:
        UnknownNameError, ConfigError: a name has one dash, such as ERRANT's `-hyp`, whose letters would be
            short flags; or something follows `-h`, so that help would be printed instead; or an option with
            several values is given twice, so that its first values would be lost.
    """
    known = parser._option_string_actions
    for word in arguments:
        if re.fullmatch(r"-[A-Za-z][A-Za-z_-]+", word):
            raise _unknown_option(word, parser)
    check_help(arguments, known)
    given = Counter(
        known[flag].dest
        for flag in (word.partition("=")[0] for word in arguments)
        if flag in known and known[flag].nargs == "+"
    )
    for name, times in given.items():
        if times > 1:
            raise ConfigError(
                f"--{name.replace('_', '-')} was given {times} times; give it once, with all its values."
            )


def check_help(arguments: Sequence[str], known: Container[str] = ()) -> None:
    """Raise `ConfigError` if something follows `-h`, because the help would be printed instead.

    Args:
        arguments: the arguments of a command.
        known: its options.
    """
    for word, following in itertools.pairwise(arguments):
        if word == "-h" and following and not following.startswith("-"):
            raise ConfigError(
                f"-h shows the help and takes no value, and {following} follows it; {_advice(known)}."
            )


def _advice(known: Container[str]) -> str:
    """Return which of a command's options to use for a word that was given without an option."""
    return next((text for name, text in _ADVICE.items() if name in known), "leave it out")


def _unknown_option(flag: str, parser: ArgumentParser) -> LearnedgecError:
    """Return the error for a flag that does not exist, with a suggestion."""
    flag = flag.partition("=")[0]
    known = [option for option in parser._option_string_actions if option.startswith("--")]
    doubled = "--" + flag.lstrip("-")
    candidates = [doubled, _OTHER_NAMES.get(flag, ""), _OTHER_NAMES.get(doubled, "")]
    candidates += difflib.get_close_matches(doubled, known, n=1, cutoff=_MISTYPED)
    suggestion = next((name for name in candidates if name in known), "")
    if not suggestion:
        return ConfigError(
            f"no option is named {flag!r}; {parser.prog} --help-all lists the options."
        )
    return UnknownNameError(
        "option", flag, known, suggestion=suggestion, hint=_DIFFERENCES.get(flag, "")
    )


# -- errors of the parser --------------------------------------------------------------------------
# jsonargparse says only in the text of an error which key, value and type it is about.


def explained(
    error: ArgumentError, parser: ArgumentParser, classes: Mapping[str, Registry[Any]] | None = None
) -> LearnedgecError | None:
    """Return what users understand in place of a parser's error; `None` if the error is clear by itself.

    Args:
        error: the error.
        parser: the parser that raised it.
        classes: key -> the classes that its values name.
    """
    message = str(error)
    return (
        _unknown_key(message, parser)
        or _unknown_argument(message, parser)
        or _wrong_class(message, classes or {})
        or _wrong_value(message)
    )


def _unknown_key(message: str, parser: ArgumentParser) -> UnknownNameError | None:
    """Return the error for a parser's message about a key that it does not have; `None` for other messages.

    A mistyped flag has another message.
    """
    match = re.match(r"(?:Group '(\w+)' does not accept option|Option) '([^'.]+)", message)
    if match is None:
        return None
    group, key = match.groups()
    defaults = parser.get_defaults()
    known = vars(defaults[group] if group else defaults)
    suggestion = OTHER_KEYS.get(key, "") if OTHER_KEYS.get(key) in known else ""
    kind = f"key of {group}" if group else "key"
    return UnknownNameError(kind, key, known, suggestion=suggestion)


def _unknown_argument(message: str, parser: ArgumentParser) -> LearnedgecError | None:
    """Return the error for a parser's message about arguments that it lacks; `None` for other messages."""
    prefix, _, listed = message.partition("unrecognized arguments: ")
    if prefix or not listed:
        return None
    words = listed.split()
    flags = [word for word in words if word.startswith("-")]
    if flags:
        return _unknown_option(flags[0], parser)
    known = parser._option_string_actions
    one = "--hyp" in known and known["--hyp"].nargs is None
    advice = "name one file of outputs with --hyp" if one else _advice(known)
    return ConfigError(f"{words[0]} belongs to no option; {advice}.")


# The parser's message about an option that a class requires or does not have.
_CLASS_OPTION = re.compile(
    r"given class_path '([\w.]+)':\s+"
    r"(?:the following arguments are required: (.+)|Option '([^'.]+).*' is not accepted)"
)


def _wrong_class(message: str, classes: Mapping[str, Registry[Any]]) -> LearnedgecError | None:
    """Return the error for a parser's message about a class or its options; `None` for other messages.

    Raises:
        UnknownNameError: no class has the name.
    """
    keys = re.findall(r'Parser key "([\w.]+)":', message)
    if not keys:
        return None
    named = classes.get(keys[0])
    if named is not None:
        for name in re.findall(r"'class_path': '(\w+)'", message):
            named.find(name)
    option = _CLASS_OPTION.search(message)
    if option is None:
        return None
    path, missing, unknown = option.groups()
    kind = path.rpartition(".")[2]
    # Heads are of one class, whose name their page does not take.
    page = f"{keys[0]}.help" + ("" if kind == "HeadOptions" else f" {kind}")
    hint = f"`learnedgec train --{page}` lists the options."
    key = ".".join(keys)
    if missing:
        return ConfigError(f"{key}: {missing} is missing; {hint}")
    known = inspect.signature(pkgutil.resolve_name(path)).parameters
    return UnknownNameError(f"key of {key}", unknown, known, hint=hint)


# Words for the types in the parser's messages; the last four occur in training configurations.
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "list": "a list such as [FIRST, SECOND]",
    "tuple": "a list such as [FIRST, SECOND]",
    "dict": "a mapping such as {KEY: VALUE}",
    "subclass": "a mapping such as {KEY: VALUE}",
    "dot": "the name of a class or {KEY: VALUE}",
    "PositiveInt": "a whole number of at least 1",
    "NonNegativeInt": "a whole number of at least 0",
    "NonNegativeFloat": "a number of at least 0",
    "OpenUnitInterval": "a number between 0 and 1",
    "ClosedUnitInterval": "a number from 0 to 1",
    "Share": "a number of at least 0 and below 1",
    "Factor": "a number above 0 and at most 1",
    "Tokens": "a whole number of at least 3",
    "PairFileName": "a list of files such as [pairs.jsonl]",
}

# Keys that have a better example than their types.
_EXPECTED = {"model.heads": "a mapping such as {fluency: {input: hypothesis or pair}}"}

_TYPE = re.compile(
    r"(?:Expected a typing\.Literal\[|not among choices \()(.+)[\])]|"
    r"(?:Expected a (?:<class ')?|Not of type |Not a valid )(\w+)"
)


def _wrong_value(message: str) -> ConfigError | None:
    r"""Return the error for a parser's message about a value of another type; `None` for other messages.

    Example:
        >>> str(_wrong_value('Parser key "jobs": Expected a <class \'int\'>. Got value: two'))
        "jobs is 'two'; a whole number was expected."
        >>> str(_wrong_value('Parser key "bits": Expected a typing.Literal[16, 4]. Got value: 3'))
        "bits is '3'; one of 16, 4 was expected."
        >>> str(_wrong_value('Parser key "seed": Not of type PositiveInt: 0 does not conform to v>0'))
        "seed is '0'; a whole number of at least 1 was expected."
        >>> str(_wrong_value('Parser key "level": 7 not among choices (1, 2)'))
        "level is '7'; one of 1, 2 was expected."
        >>> str(_wrong_value('Parser key "data": Unable to load config "a.csv"'))
        "data is 'a.csv'; keys were expected, as in --data.KEY VALUE, or a YAML file of them."
    """
    unread = r"""Parser key "([\w.]+)": Unable to load config ["'](.*?)["']"""
    if group := re.search(unread, message):
        key, file = group.groups()
        return ConfigError(
            f"{key} is {file!r}; keys were expected, as in --{key}.KEY VALUE, or a YAML file of them."
        )
    _, *parts = re.split(r'Parser key "([\w.]+)"(?: element \d+)?:\s*', message)
    if not parts:
        return None
    reasons = parts[-1]
    if reasons.startswith("Not of type"):
        reasons = reasons.splitlines()[0]
        given = re.search(r"'(.*)'|(\S+) does not conform", reasons)
    elif " not among " in reasons:
        given = re.match(r"'(.*)' not|(\S+) not", reasons)
    elif given := re.search(r"(?:Got|Given) value: (.*)", reasons):
        # The text before the value explains why the value has none of the allowed types.
        reasons = reasons[: given.start()]
    kinds = [
        f"one of {choices}" if choices else _TYPES.get(kind)
        for choices, kind in _TYPE.findall(reasons)
    ]
    key = ": ".join(parts[::2])
    expected = _EXPECTED.get(key) or " or ".join(dict.fromkeys(filter(None, kinds)))
    if not expected:
        return None
    value = f" is {next(filter(None, given.groups()), '')[:200]!r};" if given else ":"
    return ConfigError(f"{key}{value} {expected} was expected.")

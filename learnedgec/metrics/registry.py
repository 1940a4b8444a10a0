"""The table of metrics, the grammar of their names, and their construction from a name.

    metric     = name [ "[" evaluator "]" ] [ "(" parameter { "," parameter } ")" ]
    parameter  = key "=" literal                 a Python literal: 0.5, 4, 'text', True, None, (1, 2)
    key        = identifier | metric | text      of an ensemble: gleu=0.5, m2(beta=1.0)=0.5, 'some@jfleg'=0.5

A name has at most 10,000 characters, and its numbers are finite and need at most 64 bits. Case, hyphens and
underscores do not matter in the table's names: `PT-M2` and `ptm2` are `pt-m2`. An evaluator is a trained
package that the metric reads, by its name, folder or hub id: `quality[open-mpnet]`, `quality[./mine]`. It
stands for the metric's parameter that names the package. `head` also names an output: `head[mine.fluency]`.

A name with an `@`, such as `some@jfleg`, denotes a tuned metric (`tuned`). The metric is read from its file,
and given parameters replace the file's. A name with a colon, such as `mymodule:MyMetric`, denotes a class in
a module of the current folder or of an installed package. A metric that combines others holds their names as
texts: `ensemble(members=('some', 'm2(beta=1.0)'), weights=(0.6, 0.4))`.

`load_metric` reads a name, `str(metric)` writes it back with every parameter. The same names serve
the command line, configurations, reports and cache keys. Modules are imported when a name is used,
so listing the metrics loads neither torch nor spaCy. Other packages add metrics under the entry
point group `learnedgec.metrics` (name -> `module:Class`).
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import types
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, Literal

from learnedgec.errors import BadNameError, ParameterError, UnknownNameError
from learnedgec.evaluators.locations import list_evaluators, open_package
from learnedgec.evaluators.package import output_metric, output_names
from learnedgec.metrics.bound import NamedMetric
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.tuned import list_tuned, read_tuned
from learnedgec.runtime.plugins import Plugin, Registry, import_class

# The classes of this folder by the names of their metrics.
_CLASSES = {
    "m2": "m2:M2",
    "sentm2": "m2:M2",
    "errant": "errant:Errant",
    "senterrant": "errant:Errant",
    "cleme": "cleme:Cleme",
    "sentcleme": "cleme:Cleme",
    "cleme2": "cleme:Cleme2",
    "sentcleme2": "cleme:Cleme2",
    "gleu": "gleu:Gleu",
    "green": "green:Green",
    "some": "some:Some",
    "quality": "quality:Quality",
    "impara": "impara:Impara",
    "preference": "preference:Preference",
    "head": "head:Head",
    "classifier": "classifier:Classifier",
    "ensemble": "ensemble:Ensemble",
    "bertscore": "bertscore:BertScore",
    "bartscore": "bartscore:BartScore",
    "pt-m2": "pretrained_overlap:PtM2",
    "pt-errant": "pretrained_overlap:PtErrant",
    "uot-errant": "uot_errant:UotErrant",
    "hter": "ter:Hter",
    "ter": "ter:Ter",
    "edit-count": "sentinels:EditCount",
    "length": "sentinels:Length",
    "constant": "sentinels:Constant",
    "random": "sentinels:Random",
    "llm-s": "llm:LlmS",
    "llm-e": "llm:LlmE",
    "gotoscorer": "gotoscorer:GotoScorer",
    "scribendi": "scribendi:Scribendi",
    "likelihood": "likelihood:Likelihood",
    "asano": "asano:Asano",
}

METRICS = {name: f"learnedgec.metrics.{target}" for name, target in _CLASSES.items()}
"""The `module:Class` of each of learnedgec's metrics; `sent…` is an alias for the level of sentences."""

# Metrics of translations and summaries that users of other tools ask for -> the nearest metrics here.
_OF_OTHER_TASKS = {
    "comet": "quality, which needs no references",
    "bleurt": "quality, which needs no references",
    "bleu": "gleu",
    "sacrebleu": "gleu",
    "chrf": "gleu(unit='char')",
    "rouge": "gleu",
}

# Names of tools -> the metrics that they compute.
_TOOLS = {"m2scorer": "m2", "maxmatch": "m2", "errant_compare": "errant"}

_UNPRINTABLE = re.compile(r"[\0\ud800-\udfff]")

_INTEGER_LIMIT = 1 << 64

_IN_WORDS = {
    float: "a finite number",
    int: "a whole number of at most 64 bits",
    str: "a text",
    bool: "True or False",
    type(None): "None",
}


def _plugged(plugin: Plugin) -> str:
    """Return the `module:Class` of a plug-in, whose class must have the plug-in's name."""
    kind = plugin.load_class(Metric)  # type: ignore[type-abstract]
    if kind.name != plugin.name:
        raise plugin.error(f"{plugin.point.value} calls itself {kind.name!r}")
    return f"{kind.__module__}:{kind.__qualname__}"


REGISTRY: Registry[str] = Registry(
    "metric",
    "learnedgec.metrics",
    METRICS,
    _plugged,
    hint="`learnedgec metrics` lists them; a class of your own is MODULE:CLASS.",
)


def is_metric_name(name: str) -> bool:
    """Return whether a name, with any parameters, denotes a metric, a tuned metric or a class."""
    try:
        base, _, _ = split_name(name)
    except BadNameError:
        return False
    return "@" in base or ":" in base or REGISTRY.spelt(base) in REGISTRY


def metric_class(name: str) -> type[Metric]:
    """Return the class behind a metric's name or import path, importing its module.

    Raises:
        UnknownNameError: no metric has this name.
        BadNameError: there is no metric at the import path, or the name denotes a metric for another task or
            an evaluator.
        PluginError: the metric is from another installed package and cannot be loaded.
    """
    if ":" in name:
        return _imported(name)
    nearest = _OF_OTHER_TASKS.get(name.lower())
    if nearest and name not in REGISTRY:
        raise BadNameError(
            f"{name} rates translations or summaries and is no metric of corrections; nearest to it: "
            f"{nearest}."
        )
    if REGISTRY.spelt(name) not in REGISTRY and (outputs := output_metrics(name)):
        raise BadNameError(
            f"{name} is a trained evaluator; name the output that is to be the metric: {outputs}."
        )
    if suggestion := _TOOLS.get(name.lower()) or _tuned_by(name):
        raise UnknownNameError("metric", name, REGISTRY, suggestion=suggestion)
    module, _, attribute = REGISTRY.find(REGISTRY.spelt(name)).partition(":")
    kind: type[Metric] = attrgetter(attribute)(importlib.import_module(module))
    return kind


def output_metrics(evaluator: str) -> str:
    """Return the names of an evaluator's outputs as metrics, in one text; empty without the evaluator."""
    known = evaluator in list_evaluators()
    outputs = output_names(open_package(evaluator).manifest) if known else ()
    return ", ".join(output_metric(evaluator, output) for output in outputs)


def _tuned_by(words: str) -> str:
    """Return the tuned metric whose name has these words after the `@`, unless they name a metric."""
    if REGISTRY.spelt(words) in REGISTRY:
        return ""
    parts = set(words.lower().split("+"))
    return next((n for n in list_tuned() if parts <= set(re.split("[@+]", n.lower())[1:])), "")


def load_metric(name: str, /, **parameters: Any) -> Metric:
    """Return the metric that `name` describes, as the inverse of `str(metric)`.

    Args:
        name: the name of a metric, with parameters if needed, such as `gleu` or
            `some(weights=(0.5, 0.4, 0.1))`, of a tuned metric, such as `some@jfleg`, or the import path of a
            class, such as `mymodule:MyMetric`; `learnedgec.metrics.registry` describes the grammar.
        parameters: parameters that replace the name's.

    Raises:
        UnknownNameError: no metric has this name; the message suggests the nearest.
        PluginError: the metric is from another installed package and cannot be loaded.
        ParameterError: a parameter is unknown or has the wrong type.
        BadNameError: the name does not follow the grammar.

    Example:
        >>> load_metric("gleu", iterations=10).label
        'gleu(iterations=10)'
        >>> load_metric(str(load_metric("gleu(n=2)"))) == load_metric("gleu(n=2)")
        True
    """
    return read_name(name, **parameters).metric


def read_name(name: str, /, **parameters: Any) -> NamedMetric:
    """Return the metric that a name describes, as `load_metric` does, with the name of a tuned metric.

    Raises:
        BadNameError: see `load_metric`.

    Example:
        >>> read_name("gleu(n=4, iterations=10)").label
        'gleu(iterations=10)'
    """
    if not isinstance(name, str):
        raise BadNameError(
            f"a metric's name is of type {type(name).__name__}; one text such as 'gleu' was expected."
        )
    base, evaluator, in_name = split_name(name)
    if "@" in base:
        try:
            original = load_metric(read_tuned(base).metric)
        except RecursionError:
            raise BadNameError(f"{base} contains itself; tune it again.") from None
        parameters = {**_with_evaluator(type(original), base, evaluator, in_name), **parameters}
        metric = with_parameters(original, original.expand(parameters))
        return NamedMetric(metric, base, original)
    kind = metric_class(base)
    parameters = {**_with_evaluator(kind, base, evaluator, in_name), **parameters}
    if ":" not in base:
        base = REGISTRY.spelt(base)
        parameters = {**alias_parameters(base), **kind.expand(parameters)}
    else:
        parameters = kind.expand(parameters)
    return NamedMetric(_build(base, kind, parameters))


def alias_parameters(name: str) -> dict[str, Any]:
    """Return the parameters that an alias in the table, such as `sentm2`, sets."""
    return {"level": "sentence"} if name.startswith("sent") and name in METRICS else {}


def _with_evaluator(
    kind: type[Metric], name: str, evaluator: str | None, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of a name with the evaluator in its brackets, or raise `ParameterError`."""
    if evaluator is None:
        return dict(parameters)
    parameter = kind.evaluator_parameter
    if not parameter:
        raise ParameterError(
            f"{name}[{evaluator}]: {name} takes no evaluator in brackets; leave it out."
        )
    if parameter in parameters:
        raise ParameterError(
            f"{name}[{evaluator}] names its evaluator a second time as {parameter!r}; leave one out."
        )
    return {**parameters, parameter: evaluator}


def with_parameters(metric: Metric, parameters: Mapping[str, Any]) -> Metric:
    """Return the metric with other parameters, checked like a name's.

    Raises:
        ParameterError: a parameter is unknown or has the wrong type.
    """
    former = {field.name: getattr(metric, field.name) for field in dataclasses.fields(metric)}
    return _build(metric.name, type(metric), {**former, **parameters})


def _imported(path: str) -> type[Metric]:
    """Return the metric's class at an import path, which is printed as its name unless the table has it."""
    kind = import_class(path, Metric)  # type: ignore[type-abstract]
    if not isinstance(getattr(kind, "name", None), str):
        raise BadNameError(
            f"{path}: the class has no name; give it one, such as name: ClassVar[str] = 'mine'."
        )
    if "__dataclass_fields__" not in vars(kind):
        known = {field.name for field in dataclasses.fields(kind)}
        for key, hint in typing.get_type_hints(kind).items():
            if key not in known and typing.ClassVar not in (hint, typing.get_origin(hint)):
                raise BadNameError(
                    f"{path}: {key!r} is no parameter yet; write @dataclass(frozen=True) above the class, or "
                    f"{key}: ClassVar[…] if it is a constant."
                )
    if METRICS.get(kind.name) != f"{kind.__module__}:{kind.__qualname__}":
        kind.import_path = path
    return kind


def _build(name: str, kind: type[Metric], parameters: Mapping[str, Any]) -> Metric:
    """Construct the metric after checking every parameter's name and type."""
    hints = typing.get_type_hints(kind)
    fields = [field.name for field in dataclasses.fields(kind)]
    values: dict[str, Any] = {}
    for key, value in parameters.items():
        if key not in fields:
            raise ParameterError(str(UnknownNameError(f"parameter of {name}", key, fields)))
        try:
            values[key] = _fitted(value, hints[key])
        except ValueError:
            unprintable = isinstance(value, str) and _UNPRINTABLE.search(value)
            expected = _expected(hints[key]) + " without NUL or lone surrogates" * bool(unprintable)
            raise ParameterError(
                f"{name}({key}={shown(repr(value))}): {expected} was expected."
            ) from None
    for key, parameter in inspect.signature(kind).parameters.items():
        if parameter.default is inspect.Parameter.empty and key not in values:
            raise ParameterError(f"{name} needs the parameter {key!r}: write {name}({key}=…).")
    return kind(**values)


def _fitted(value: Any, hint: Any) -> Any:
    """Convert a parameter's value to the type of its annotation: an int to a float, a list to a tuple.

    Numbers are finite and have at most 64 bits. Texts hold neither NUL nor lone surrogates, which no name of
    a file or model can hold.

    Raises:
        ValueError: the value does not fit.
    """
    kind, options = typing.get_origin(hint), typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        for option in options:
            with suppress(ValueError):
                return _fitted(value, option)
    elif kind in (tuple, Sequence):
        if isinstance(value, list | tuple):
            alike = kind is Sequence or options[-1] is Ellipsis
            options = options[:1] * len(value) if alike else options
            return tuple(_fitted(item, option) for item, option in zip(value, options, strict=True))
    elif kind is Literal:
        if value in options:
            return value
    elif hint is Any:
        return value
    elif isinstance(value, bool):
        if hint is bool:
            return value
    elif isinstance(value, int | float):
        whole = hint is int and isinstance(value, int)
        if -_INTEGER_LIMIT < value < _INTEGER_LIMIT and (whole or hint is float):
            return hint(value)
    elif isinstance(value, kind or hint) and not (hint is str and _UNPRINTABLE.search(value)):
        return value
    raise ValueError


def _expected(hint: Any) -> str:
    """Describe an annotation in words."""
    kind, options = typing.get_origin(hint), typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        return " or ".join(map(_expected, options))
    if kind is Literal:
        return " or ".join(map(repr, options))
    if kind is tuple:
        return f"({', '.join('…' if item is Ellipsis else _expected(item) for item in options)})"
    return _IN_WORDS.get(hint, str(hint))


# The maximum length of a name, in characters.
MAX_NAME_LENGTH = 10_000


_NAME = re.compile(
    r"\s*([A-Za-z][\w.@+-]*|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*)"
    r"(?:\[([^\[\]()'\"]+)\])?\s*(\(.*\))?\s*",
    re.DOTALL,
)
# The signs that may end a parameter, and quoted texts, whose signs do not count.
_SIGN = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[()\[\]{},=]""", re.DOTALL)


def split_name(name: str) -> tuple[str, str | None, dict[str, Any]]:
    """Return the base name, the evaluator in brackets and the parameters of a metric's name.

    Raises:
        BadNameError: the name does not follow the grammar.

    Example:
        >>> split_name("ensemble(gleu=0.5, m2(beta=1.0)=0.5)")
        ('ensemble', None, {'gleu': 0.5, 'm2(beta=1.0)': 0.5})
        >>> split_name("quality[mine](threshold=0.9)")
        ('quality', 'mine', {'threshold': 0.9})
    """
    if len(name) > MAX_NAME_LENGTH:
        raise BadNameError(
            f"the name {shown(name)} has {len(name)} characters; at most {MAX_NAME_LENGTH} were expected."
        )
    match = _NAME.fullmatch(name)
    if match is None and name.count("(") > name.count(")"):
        raise BadNameError(f"{shown(name)!r} is not a metric, because a bracket is not closed.")
    if match is None:
        raise BadNameError(
            f"{shown(name)!r} is not a metric; one name such as gleu or m2(beta=1.0) was expected",
            hint=".",
            flag=", and several with spaces between.",
        )
    base, evaluator, arguments = match.groups()
    return base, evaluator, _parse_arguments(base, arguments or "()")


def _parse_arguments(name: str, arguments: str) -> dict[str, Any]:
    """Return the keyword arguments of a name such as `(beta=0.5, scorer='bertscore')`."""
    parameters: dict[str, Any] = {}
    pieces = _split(arguments[1:-1], ",")
    if not pieces[-1].strip():  # There is no argument, or a comma after the last one.
        pieces.pop()
    for piece in pieces:
        try:
            key, value = (part.strip() for part in _split(piece, "="))
            key = str(ast.literal_eval(key)) if key[:1] in ("'", '"') else key
            parameter = ast.literal_eval(value)
        # The parser runs out of memory or stack on input that is nested too deeply.
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            raise BadNameError(
                f"the parameters of {shown(name + arguments)} cannot be read; write them as "
                f"{shown(name)}(parameter=value, …) with texts in quotes."
            ) from None
        if key in parameters:
            raise BadNameError(
                f"{shown(name + arguments)} gives the parameter {shown(repr(key))} twice."
            )
        parameters[key] = parameter
    return parameters


def _split(text: str, sign: str) -> list[str]:
    """Return the parts of a text between signs that are neither in brackets nor in quotes."""
    parts, depth, start = [], 0, 0
    for match in _SIGN.finditer(text):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match[0] == sign and not depth:
            parts.append(text[start : match.start()])
            start = match.end()
    return [*parts, text[start:]]


def shown(text: str) -> str:
    """Return a text, shortened if it is too long for a message."""
    return text if len(text) <= 200 else f"{text[:200]}…"

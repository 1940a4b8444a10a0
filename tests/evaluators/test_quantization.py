"""Weights in 4 bits against an obvious oracle: each group's scale and numbers searched one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from scipy.stats import norm

from learnedgec.data.catalog.files import CACHE_VARIABLE
from learnedgec.errors import ConfigError
from learnedgec.evaluators.precision import (
    GROUP,
    NORMAL_FLOAT,
    check_bits,
    pack,
    read_weights,
    round_weights,
    unpack,
)


def rounded(group: torch.Tensor) -> list[float]:
    """Return a group's values after rounding, the slow way."""
    best: tuple[float, list[float]] = (float("inf"), [])
    for share in (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6):
        scale = float((group.abs().max() * share).half())
        values = [
            min((float(number) * scale for number in NORMAL_FLOAT), key=lambda v, x=x: abs(v - x))
            for x in group.tolist()
        ]
        error = sum((v - x) ** 2 for v, x in zip(values, group.tolist(), strict=True))
        if error < best[0]:
            best = (error, values)
    return best[1]


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), spread=st.sampled_from([1e-3, 0.05, 1.0, 30.0]))
def test_4_bits_are_the_nearest_of_the_best_scale(seed: int, spread: float) -> None:
    matrix = torch.randn(2, 2 * GROUP, generator=torch.Generator().manual_seed(seed)) * spread
    unpacked = unpack(pack({"dense": matrix}, 4))["dense"]
    groups = matrix.reshape(-1, GROUP)
    expected = torch.tensor([rounded(group) for group in groups])
    # Of scales or numbers equally near either may be taken: what counts is the error.
    errors = (unpacked.reshape(-1, GROUP) - groups).square().sum(dim=1)
    assert errors.tolist() == pytest.approx(
        (expected - groups).square().sum(dim=1).tolist(), rel=1e-4
    )
    # As a normal distribution loses to sixteen quantiles.
    assert 0.004 < float(errors.sum() / groups.square().sum()) < 0.014


def test_what_a_rounded_matrix_learns_is_not_rounded_away() -> None:
    matrix = torch.randn(64, 8 * GROUP, generator=torch.Generator().manual_seed(1))
    first = unpack(pack({"dense": matrix}, 4))["dense"]
    assert unpack(pack({"dense": first}, 4))["dense"].equal(first)
    # Stored in 16 bits in between, as the members of a mean are, it has the same numbers.
    assert unpack(pack({"dense": first.half().float()}, 4))["dense"].equal(first)
    learned = 0.03 * torch.randn(matrix.shape, generator=torch.Generator().manual_seed(2))
    second = unpack(pack({"dense": first + learned}, 4))["dense"]
    # The slope of what is there on what was learned; with the old scales it is below 0.1.
    slope = float(((second - first) * learned).sum() / learned.square().sum())
    assert slope == pytest.approx(1.0, abs=0.3)
    assert unpack(pack({"dense": second}, 4))["dense"].equal(second)


def test_the_numbers_are_quantiles_of_a_normal_distribution() -> None:
    # The procedure of the paper's appendix E, with its offset.
    offset = (1 - 1 / 30 + 1 - 1 / 32) / 2
    upper = [norm.ppf(offset + (0.5 - offset) * i / 8) for i in range(8)]
    lower = [-norm.ppf(offset + (0.5 - offset) * i / 7) for i in range(7)]
    quantiles = sorted([*upper, 0.0, *lower])
    expected = [value / max(quantiles) for value in quantiles]
    assert NORMAL_FLOAT.tolist() == pytest.approx(expected, abs=1e-4)


def test_what_is_stored() -> None:
    weights = {
        "matrix": torch.randn(3, 256),
        "zeros": torch.zeros(2, 128),
        "narrow": torch.randn(3, 100),
        "head": torch.randn(1, 256),
        "bias": torch.randn(256),
    }
    stored = pack(weights, 4)
    assert {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in stored.items()} == {
        "matrix.codes": (torch.uint8, (3, 128)),
        "matrix.scales": (torch.float16, (3, 2)),
        "zeros.codes": (torch.uint8, (2, 64)),
        "zeros.scales": (torch.float16, (2, 1)),
        "narrow": (torch.float16, (3, 100)),
        "head": (torch.float16, (1, 256)),
        "bias": (torch.float16, (256,)),
    }
    whole = unpack(stored)
    assert whole.keys() == weights.keys()
    assert whole["zeros"].tolist() == weights["zeros"].tolist()


def test_what_cannot_be_packed() -> None:
    with pytest.raises(ConfigError, match=r"bits: no matrix .* groups of 128 weights"):
        check_bits(torch.nn.Linear(100, 4), 4)
    whole = pack({"position": torch.arange(5000)}, 4)["position"]
    assert whole.tolist() == list(range(5000))


@pytest.mark.parametrize("bits", [16, 4])
def test_a_model_becomes_what_is_stored(bits: int) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 4), torch.nn.Linear(4, 1))
    before = model(torch.ones(1, 256))
    stored = round_weights(model, bits)  # type: ignore[arg-type]
    for name, tensor in unpack(stored).items():
        assert tensor.tolist() == model.state_dict()[name].tolist()
    after = model(torch.ones(1, 256))
    assert after.tolist() != before.tolist()
    assert after.tolist() == [pytest.approx(row, abs=0.05) for row in before.tolist()]


def test_processes_share_a_file_of_unpacked_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = torch.randn(2, 2 * GROUP, generator=torch.Generator().manual_seed(1))
    stored = pack({"dense": matrix, "bias": torch.ones(2)}, 4)
    save_file(stored, tmp_path / "model.safetensors")
    expected = unpack(stored)
    monkeypatch.setenv("LEARNEDGEC_SHARE_WEIGHTS", "1")
    (tmp_path / "a file").touch()
    for place, files in (("cache", 1), ("a file/cache", 0)):
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / place))
        for _ in range(2):
            weights = read_weights(tmp_path, "digest")
            assert {name: weights[name].tolist() for name in weights} == {
                name: tensor.tolist() for name, tensor in expected.items()
            }
        assert len(list((tmp_path / place).glob("unpacked/*.safetensors"))) == files
    # The second process reads what the first has unpacked.
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "model.safetensors").unlink()
    assert read_weights(tmp_path, "digest")["dense"].equal(expected["dense"])

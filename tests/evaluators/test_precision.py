from __future__ import annotations

from pathlib import Path

import pytest
import torch

from learnedgec.errors import ModelError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.evaluators.precision import evaluator_precision, has_bfloat16, model_precision
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one

TEXTS = ["he go .", "he goes home .", "they sat on the mat"]
AUTO = Runtime(device="cpu", dtype="auto")


@pytest.fixture(params=[True, False])
def native(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setenv("LEARNEDGEC_BFLOAT16", "1" if request.param else "0")
    return bool(request.param)


def test_auto_is_what_the_hardware_does_for_evaluators_alone(native: bool) -> None:
    assert evaluator_precision(AUTO) == ("bfloat16" if native else "float32")
    assert model_precision(AUTO) == "float32"
    for dtype in ("float32", "bfloat16"):
        runtime = Runtime(device="cpu", dtype=dtype)  # type: ignore[arg-type]
        assert evaluator_precision(runtime) == model_precision(runtime) == dtype
    for device in ("cpu", "cuda", "mps"):
        assert has_bfloat16(torch.device(device)) is native


@pytest.mark.parametrize(
    ("device", "capability", "expected"),
    [
        ("cpu", {"avx512_f": True, "avx512_bf16": False}, False),
        ("cpu", {"amx_bf16": True}, True),
        ("cpu", {}, False),
        ("cuda", (7, 5), False),
        ("cuda", (8, 0), True),
        ("mps", None, False),
    ],
)
def test_hardware_multiplies_in_bfloat16_or_not(
    device: str, capability: object, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEARNEDGEC_BFLOAT16", raising=False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capability, raising=False)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert has_bfloat16(torch.device(device)) is expected
    monkeypatch.setenv("LEARNEDGEC_BFLOAT16", "yes")
    with pytest.raises(ModelError, match="LEARNEDGEC_BFLOAT16 is 'yes'; it must be 0, 1 or unset"):
        has_bfloat16(torch.device(device))


def test_heads_are_not_rounded(tiny_evaluator: Path) -> None:
    model = Evaluator.load(str(tiny_evaluator), runtime=Runtime(device="cpu")).model
    batch = {"input_ids": torch.tensor([[2, 5, 7, 3]]), "attention_mask": torch.ones(1, 4).long()}
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        output = model.encode(batch, "hypothesis")
        values = model.values(output, batch, ["fluency"])["fluency"]
        assert model.token_logits(output, "fluency").dtype == torch.float32
    with torch.inference_mode():
        pooled = output.last_hidden_state.float().mean(dim=1)
        head = model.config.head("fluency")
        expected = model.heads["fluency"](pooled).squeeze(-1) * head.scale + head.offset
    assert values.dtype == torch.float32
    assert values.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert values.tolist() != values.bfloat16().float().tolist()


def test_the_signature_names_the_precision_in_use(tiny_evaluator: Path, native: bool) -> None:
    metric = load_metric(f"some(model='{tiny_evaluator}')")
    signature = bind_one(metric, AUTO).signature()
    assert f"|dtype:{'bfloat16' if native else 'float32'}|" in signature


def test_scores_of_an_evaluator_in_bfloat16_are_close(tiny_evaluator: Path, native: bool) -> None:
    evaluator = Evaluator.load(str(tiny_evaluator), runtime=Runtime(device="cpu"))
    exact = evaluator.predict(TEXTS, TEXTS, runtime=Runtime(device="cpu", dtype="float32"))
    predicted = evaluator.predict(TEXTS, TEXTS, runtime=AUTO)
    for name, values in exact.items():
        assert predicted[name] == pytest.approx(values, abs=0.05)
        assert (predicted[name].tolist() == values.tolist()) is not native

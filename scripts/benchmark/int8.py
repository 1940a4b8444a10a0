"""Compare quantised kernels of ONNX Runtime and OpenVINO with torch, for an evaluator's encoder.

    pip install --target FOLDER --no-deps onnx onnx_ir onnxscript onnxruntime openvino openvino-telemetry \
        nncf ml_dtypes flatbuffers pydot ninja tabulate psutil
    PYTHONPATH=FOLDER python scripts/benchmark/int8.py --calibration FILE [--sentences 40] [--only NAME ...]

`FILE` has sentences, one a line, of which 300 calibrate: static quantisation takes ranges of states from
them, `smoothed` variants a factor for each channel, and "fitted" heads a line through the values in float32.
Packages are installed without dependencies, so that none replaces one of the environment.

The encoder without corrections, as it reads hypotheses, is exported once. A variant takes its place in the
evaluator, so that tokens, batches, pooling and heads are the package's own. Each runs in a process of its own
with one thread, on the distinct outputs of 13 systems for some sentences of GJG15, in several rounds; what
counts is the least processor time. An int8 path would have to take a third of float32's time, move no
system's score by more than 0.002 and keep the order of 99 % of the pairs of outputs for one source.

Variants: `dynamic` finds the range of a batch's states while it runs, `static` has it from calibration.
`groups of N` has int8 weights with a scale for each row, and a scale for each N states of a token. ONNX
Runtime's `blocks of N` has a scale for each N weights, too. OpenVINO's `blocks` has a scale for each 128
weights and states, which nncf does not make; `smoothed` first divides states by a factor for each channel.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from throughput import PACKAGE, benchmark_texts, differences, show, texts_of

from learnedgec.execution.runtime import Runtime
from learnedgec.models.batching import padded_batches, tokenise
from learnedgec.models.evaluator import Evaluator

# Weights of one scale, as in a package of 4 bits.
GROUP = 128
HEADS = ("quality", "fluency", "grammaticality", "likelihood")
Session = Callable[[Mapping[str, Any]], Any]


class Exported(torch.nn.Module):
    """A stand-in for the encoder that runs in another engine.

    Args:
        config: the encoder's configuration.
        session: what returns the states, (B, T, H), for `input_ids` and `attention_mask`, (B, T) each.
    """

    def __init__(self, config: Any, session: Session) -> None:
        super().__init__()
        self.config, self.session = config, session

    def forward(self, **batch: torch.Tensor) -> SimpleNamespace:
        """Return the states as transformers' encoders do."""
        states = self.session({name: tensor.numpy() for name, tensor in batch.items()})
        return SimpleNamespace(last_hidden_state=torch.from_numpy(np.array(states)))


class Bare(torch.nn.Module):
    """MPNet with a mask that is added to attention, without what transformers decides while it runs."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the states, (B, T, H)."""
        hidden = (1.0 - attention_mask[:, None, None].float()) * torch.finfo(torch.float32).min
        states = self.encoder.embeddings(input_ids=input_ids)
        found: torch.Tensor = self.encoder.encoder(states, attention_mask=hidden, return_dict=True)[
            0
        ]
        return found


# -- variants --------------------------------------------------------------------------------------


def onnx_session(path: Path) -> Session:
    """Return the encoder of a file in ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    return lambda batch: session.run(None, dict(batch))[0]


def onnx_variant(kind: str, folder: Path, calibration: list[Any], factors: Any = None) -> Session:
    """Return the encoder in ONNX Runtime in float32 or quantised as `kind` says."""
    exact = folder / "encoder.onnx"
    if kind == "float32":
        return onnx_session(exact)
    import onnx
    from onnxruntime import quantization

    path = folder / f"onnx-{kind}.onnx"
    only = {"op_types_to_quantize": ["MatMul"], "per_channel": True}
    if path.exists():
        return onnx_session(path)
    if kind.startswith("dynamic"):
        weights = {
            "dynamic": quantization.QuantType.QInt8,
            "dynamic, weights without sign": quantization.QuantType.QUInt8,
        }
        quantization.quantize_dynamic(exact, path, weight_type=weights[kind], **only)
    elif kind.startswith("static"):
        sign = quantization.QuantType.QInt8

        class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
            """Gives one batch after another."""

            def __init__(self) -> None:
                self.left = iter(calibration)

            def get_next(self) -> Any:
                """Return the next batch, or nothing."""
                return next(self.left, None)

        types = {"weight_type": sign, "activation_type": sign}
        quantization.quantize_static(exact, path, Reader(), **types, **only)
    else:
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        bits = MatMulNBitsQuantizer(
            onnx.load(exact),
            bits=8,
            block_size=int(kind.split()[-1]),
            is_symmetric=True,
            accuracy_level=4,
        )
        bits.process()
        bits.model.save_model_to_file(str(path))
    return onnx_session(path)


def smoothed(encoder: Any, run: Callable[[], Any]) -> dict[str, Any]:
    """Return, for each matrix of the encoder, the factors, (C,), by which its states are divided.

    A channel's factor is the square root of its largest state among some sentences (Xiao et al.,
    "SmoothQuant", ICML 2023, without the share of the weights). So states of a group differ less in size.

    Args:
        encoder: the encoder.
        run: runs it on the sentences.
    """
    peaks: dict[str, Any] = {}

    def hook(name: str) -> Any:
        def look(_: Any, inputs: Any) -> None:
            found = inputs[0].abs().flatten(0, -2).amax(0).numpy()
            peaks[name] = np.maximum(peaks.get(name, 1e-5), found)

        return look

    layers = {
        name: each
        for name, each in encoder.encoder.layer.named_modules()
        if hasattr(each, "weight")
    }
    hooks = [
        each.register_forward_pre_hook(hook(f"encoder.layer.{name}"))
        for name, each in layers.items()
        if each.weight.dim() == 2
    ]
    run()
    for each in hooks:
        each.remove()
    return {name: np.sqrt(peak / np.sqrt((peak**2).mean())) for name, peak in peaks.items()}


def grouped(model: Any, group: int, factors: Mapping[str, Any]) -> Any:
    """Return an OpenVINO model whose matrices are int8 with a scale for each `group` weights of a row.

    Args:
        model: the model in float32.
        group: weights of a scale, which is the one of several with the least squared error.
        factors: matrix -> factors by which states are divided and columns multiplied (`smoothed`); may be
            empty.
    """
    from openvino import opset13

    divided: dict[Any, Any] = {}
    for node in model.get_ordered_ops():
        if "Constant" not in [each.get_node().get_type_name() for each in node.input_values()[1:2]]:
            continue
        if node.get_type_name() != "MatMul":
            continue
        weights = node.input_value(1).get_node().data
        weights = weights if node.get_attributes()["transpose_b"] else weights.T
        states = node.input_value(0)
        name = node.get_friendly_name().strip("/").rsplit("/", 1)[0].replace("/", ".")
        if name in factors:
            weights = weights * factors[name]
            # Query, key and value read the same states.
            source = (states.get_node().get_friendly_name(), states.get_index())
            if source not in divided:
                shares = opset13.constant((1 / factors[name])[None, None].astype(np.float32))
                divided[source] = opset13.multiply(states, shares).output(0)
            states = divided[source]
        blocks = weights.reshape(len(weights), -1, group)
        peak = np.maximum(np.abs(blocks).max(axis=2, keepdims=True), 1e-12)
        least, scales = np.full_like(peak, np.inf), peak
        for steps in np.arange(90, 127.5, 0.5):
            scale = peak / steps
            error = ((np.rint(blocks / scale) * scale - blocks) ** 2).sum(axis=2, keepdims=True)
            scales = np.where(error < least, scale, scales)
            least = np.minimum(error, least)
        codes = opset13.constant(np.rint(blocks / scales).astype(np.int8))
        whole = opset13.multiply(
            opset13.convert(codes, "f32"), opset13.constant(scales.astype(np.float32))
        )
        flat = opset13.reshape(whole, opset13.constant(list(weights.shape)), False)
        node.output(0).replace(opset13.matmul(states, flat, False, True).output(0))
    return model


def openvino_variant(
    kind: str, folder: Path, calibration: list[Any], factors: Mapping[str, Any]
) -> Session:
    """Return the encoder in OpenVINO in float32, bfloat16, or quantised as `kind` says."""
    import openvino

    core = openvino.Core()
    settings: dict[str, Any] = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "bf16" if "bfloat16" in kind else "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
    }
    path = folder / "encoder.onnx"
    if kind.startswith("static"):
        path = folder / "static.xml"
    elif kind.startswith("groups"):
        path = folder / "weights.xml"
        settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = int(kind.split()[2].strip(","))
    elif kind.startswith("blocks"):
        path = folder / f"{kind}.xml"
        settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = GROUP
    elif kind == "weights alone":
        path = folder / "weights.xml"
    if not path.exists():
        import nncf

        exact = core.read_model(folder / "encoder.onnx")
        if path.stem == "static":
            made = nncf.quantize(
                exact,
                nncf.Dataset(calibration),
                model_type=nncf.ModelType.TRANSFORMER,
                subset_size=len(calibration),
            )
        elif path.stem.startswith("blocks"):
            made = grouped(exact, GROUP, factors)
        else:
            made = nncf.compress_weights(exact, mode=nncf.CompressWeightsMode.INT8_SYM)
        openvino.save_model(made, path, compress_to_fp16=False)
    compiled = core.compile_model(core.read_model(path), "CPU", settings)
    request = compiled.create_infer_request()

    def session(batch: Mapping[str, Any]) -> Any:
        return request.infer(dict(batch), share_inputs=True)[0]

    return session


VARIANTS = (
    "torch float32",
    "torch bfloat16",
    "onnx float32",
    "onnx dynamic",
    "onnx dynamic, weights without sign",
    "onnx static",
    "onnx blocks of 32",
    "onnx blocks of 128",
    "openvino float32",
    "openvino bfloat16",
    "openvino static",
    "openvino static, else bfloat16",
    "openvino weights alone",
    "openvino groups of 32",
    "openvino groups of 64",
    "openvino groups of 128",
    "openvino blocks",
    "openvino blocks, smoothed",
)


def job(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the heads for some hypotheses from one variant, and the time of each pass."""
    engine, kind = task["variant"].split(" ", 1)
    folder = Path(task["folder"])
    runtime = Runtime(dtype=kind if engine == "torch" else "float32")
    evaluator = Evaluator.load(PACKAGE, runtime=runtime)
    encoder = evaluator.model.encoder
    if engine != "torch":
        encoded = tokenise(evaluator.tokenizer, task["calibration"], max_length=128)
        calibration = [
            {name: tensor.numpy() for name, tensor in batch.items() if name != "token_type_ids"}
            for _, batch in padded_batches(evaluator.tokenizer, encoded, Runtime(batch_tokens=1))
        ]
        if not (folder / "encoder.onnx").exists():
            axes = {0: "inputs", 1: "tokens"}
            inputs = ("input_ids", "attention_mask")
            torch.onnx.export(
                Bare(encoder),
                tuple(torch.ones(2, 7, dtype=torch.int64) for _ in inputs),
                folder / "encoder.onnx",
                input_names=list(inputs),
                output_names=["states"],
                dynamic_axes=dict.fromkeys((*inputs, "states"), axes),
                dynamo=False,
            )
        make = {"onnx": onnx_variant, "openvino": openvino_variant}[engine]
        factors = {}
        if kind.endswith("smoothed"):
            texts = task["calibration"]
            factors = smoothed(encoder, lambda: evaluator.predict(texts, texts, HEADS))
        session = make(kind, folder, calibration, factors)
        evaluator.model.encoder = Exported(encoder.config, session)
    warm = texts_of(4, 20, seed=1)
    evaluator.predict(warm, warm, HEADS, runtime=runtime)
    seconds, texts = [], task["hypotheses"]
    for _ in range(task["passes"]):
        evaluator._kept.clear()
        before = time.process_time()
        found = evaluator.predict(texts, texts, HEADS, runtime=runtime)
        seconds.append(time.process_time() - before)
    seen = evaluator.predict(task["calibration"], task["calibration"], HEADS, runtime=runtime)
    return {
        "seconds": seconds,
        "values": {name: found[name].tolist() for name in HEADS},
        "calibration": {name: seen[name].tolist() for name in HEADS},
    }


# -- tables ----------------------------------------------------------------------------------------


def in_process(task: Mapping[str, Any]) -> dict[str, Any] | str:
    """Do one job in a process of its own; return what it found, or why it failed."""
    done = subprocess.run(
        [sys.executable, __file__, "--job"],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    )
    if done.returncode:
        return done.stderr.strip()
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--calibration", type=Path, help="a file of sentences")
    parser.add_argument("--sentences", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--passes", type=int, default=2, help="of each process")
    parser.add_argument("--only", nargs="+", default=VARIANTS, metavar="NAME")
    parser.add_argument("--folder", help="keeps exported encoders; a temporary one by default")
    parser.add_argument("--job", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(job(json.load(sys.stdin))))
        return
    sources, systems = benchmark_texts(options.sentences, None)
    rows = {name: list(zip(sources, lines, strict=True)) for name, lines in systems.items()}
    place = {
        row: number
        for number, row in enumerate(dict.fromkeys(r for each in rows.values() for r in each))
    }
    lines = options.calibration.read_text().splitlines() if options.calibration else []
    runs: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        task = {
            "hypotheses": [row[1] for row in place],
            "passes": options.passes,
            "calibration": [line for line in lines if line.strip()][:300],
            "folder": options.folder or temporary,
        }
        for _ in range(options.rounds):
            for variant in options.only:
                found = in_process(task | {"variant": variant})
                if isinstance(found, str):
                    print(f"{variant}: {found}", file=sys.stderr)
                else:
                    runs.setdefault(variant, []).append(found)
                    print(variant, [f"{s:.2f}" for s in found["seconds"]], file=sys.stderr)
    best = {name: min(s for run in each for s in run["seconds"]) for name, each in runs.items()}
    exact = runs[VARIANTS[0]][0]
    columns = ["", "processor s", *(f"to torch's {kind}" for kind in ("float32", "bfloat16"))]
    show(
        f"{len(set(task['hypotheses']))} hypotheses, one thread",
        columns,
        [
            [
                name,
                f"{seconds:.2f}",
                *(f"{best[v] / seconds:.2f}" if v in best else "" for v in VARIANTS[:2]),
            ]
            for name, seconds in best.items()
        ],
    )
    for head in ("quality, after its sigmoid", *HEADS):
        name, *sigmoid = head.split(", ")
        table = []
        for variant, each in list(runs.items())[1:]:
            one, other = (np.array(run["values"][name]) for run in (exact, each[0]))
            line = np.polyfit(each[0]["calibration"][name], exact["calibration"][name], 1)
            fitted = np.polyval(line, other)
            if sigmoid:
                one, other, fitted = (1 / (1 + np.exp(-logits)) for logits in (one, other, fitted))
            moved = differences(rows, place, one, other)
            table.append([variant, *moved, differences(rows, place, one, fitted)[1]])
        columns = [
            "",
            "largest of a sentence",
            "of a system",
            "order kept",
            "pairs",
            "system, fitted",
        ]
        show(f"{head}, against {VARIANTS[0]}", columns, table)


if __name__ == "__main__":
    main()

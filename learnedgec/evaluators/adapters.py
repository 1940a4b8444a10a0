"""PEFT adapters such as LoRA: a folder of small weights that adapt another model (extra `published`).

    adapter_config.json           names the model that it adapts, and how
    adapter_model.safetensors     the weights, and those of the head, which the other model lacks

An adapter is merged into the model that it adapts; the result is that model with other weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from learnedgec.data.text import read_json
from learnedgec.errors import MissingDependencyError, ModelError
from learnedgec.evaluators.hub import cached_file, hub_file, hub_files

__all__ = ["ADAPTER", "ADAPTER_WEIGHTS", "Adapter", "find_adapter"]

ADAPTER = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"

# What PEFT puts before the names of a model's weights.
_PREFIX = "base_model.model."


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter with local files.

    Attributes:
        folder: folder of the files.
        base: name of the model that it adapts.
    """

    folder: Path
    base: str

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the adapter's weights, by their names in the model that it adapts.

        Raises:
            ModelError: there are none, or they are damaged.
        """
        file = self.folder / ADAPTER_WEIGHTS
        try:
            with safe_open(file, "pt") as weights:
                return {
                    name.removeprefix(_PREFIX): tuple(weights.get_slice(name).get_shape())
                    for name in weights.keys()  # noqa: SIM118 - it is no dictionary
                }
        except (OSError, SafetensorError) as error:
            raise ModelError(
                f"the adapter {self.folder} cannot be loaded ({error}); it must hold {ADAPTER_WEIGHTS}."
            ) from None

    def settings(self) -> dict[str, int]:
        """Return the settings for loading the adapted model: the number of labels of the adapter's head."""
        heads = [
            shape[0]
            for name, shape in self.shapes().items()
            if name in ("classifier.weight", "score.weight", "classifier.out_proj.weight")
        ]
        return {"num_labels": heads[0]} if heads else {}

    def merge(self, model: Any, absent: Collection[str]) -> Any:
        """Return the adapted model.

        Args:
            model: the model that it adapts.
            absent: names of weights that are missing in that model, where they are random.

        Raises:
            MissingDependencyError: `peft` is not installed.
            ModelError: the adapter does not fit the model, or lacks weights that the model lacks too.
        """
        try:
            from peft import PeftModel
        except ImportError:
            raise MissingDependencyError(
                "peft", "published", f"the adapter {self.folder}"
            ) from None
        brought = self.shapes()
        if still := sorted(set(absent) - brought.keys()):
            raise ModelError(
                f"neither the adapter {self.folder} nor {self.base}, which it adapts, has the weights "
                f"{', '.join(still[:3])}; it was saved without them and cannot score."
            )
        try:
            with warnings.catch_warnings():
                # A warning of one library about the other, which neither the user nor learnedgec can act on.
                warnings.simplefilter("ignore", FutureWarning)
                return PeftModel.from_pretrained(model, str(self.folder)).merge_and_unload()
        except (KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
            raise ModelError(
                f"the adapter {self.folder} does not fit {self.base}, which it says it adapts: {error}"
            ) from None


def find_adapter(place: str, *, local: bool) -> Adapter | None:
    """Return the adapter in a directory or repository; `None` if there is none.

    Args:
        place: a directory or a hub id.
        local: use only local files, not the hub.

    Raises:
        FormatError: its configuration is damaged.
        ModelError: it does not name the model that it adapts.
    """
    folder = Path(place)
    if folder.is_dir():
        file = folder / ADAPTER
        if not file.is_file():
            return None
    else:
        cached = cached_file(place, ADAPTER)
        if cached is None:
            if local:
                return None
            try:
                cached = hub_file(place, ADAPTER)
            except ModelError:
                return None
        file, folder = cached, hub_files(place, cached, [ADAPTER_WEIGHTS])
    configuration = read_json(file)
    base = configuration.get("base_model_name_or_path") if isinstance(configuration, dict) else None
    if not isinstance(base, str) or not base:
        raise ModelError(
            f"{file} does not name the model that it adapts (base_model_name_or_path)."
        )
    return Adapter(folder, base)

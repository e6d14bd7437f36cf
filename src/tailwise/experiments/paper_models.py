"""The two models of the paper: what LightXML needs, and what was trained here instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tailwise.models.choosing import inner_model

if TYPE_CHECKING:
    from tailwise.experiments.experiment_data import ExperimentData


class Settings(NamedTuple):
    """Epochs and tokens per text of LightXML."""

    epochs: int
    length: int


SETTINGS = {
    "Eurlex-4K": Settings(20, 512),
    "Wiki10-31K": Settings(30, 512),
    "AmazonCat-13K": Settings(5, 512),
    "Amazon-670K": Settings(15, 128),
    "Wiki-500K": Settings(10, 128),
}
USUAL = Settings(20, 128)  # as by default in TextModel
OPERATIONS = 6 * 85e6  # a token, forwards and backwards, of a transformer of the size of BERT without its vocabulary
SPEED = 4e13  # operations a second, of a GPU as the paper used (V100), in half precision


def describe_models(data: ExperimentData) -> tuple[str, ...]:
    """Return notes on the model that was trained; none for given probabilities."""
    if not data.has_model:
        return ()
    hours, (epochs, length) = estimate_gpu_hours(data), _settings_of(data)
    needs = (
        "The paper's second model, LightXML, fine-tunes a transformer on texts, on one GPU with 32 GB. For "
        f"{data.source.Y.shape[0]:,} texts, {epochs} epochs and {length} tokens each, that is about {hours:.1f} GPU "
        "hours (estimated from 5e8 operations a token and 4e13 a second)."
    )
    if is_lightxml(data):
        return (f"{needs} Here it was trained with the parameters in experiment.json.",)
    run = f"It was not run here: these probabilities are from the model {data.choice.name!r}, trained on this machine."
    return (f"{needs} {run} To run it: --model text --model-option encoder=bert-base-uncased, on texts.",)


def is_lightxml(data: ExperimentData) -> bool:
    """Whether the model is a transformer after LightXML."""
    return getattr(inner_model(data.choice.model), "encoder", None) is not None


def estimate_gpu_hours(data: ExperimentData) -> float:
    """Estimate how long a GPU takes to train LightXML on the training set."""
    epochs, length = _settings_of(data)
    return epochs * length * data.source.Y.shape[0] * OPERATIONS / SPEED / 3600


def _settings_of(data: ExperimentData) -> Settings:
    return SETTINGS.get(data.name, USUAL)

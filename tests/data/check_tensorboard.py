"""Reads a run's event file with TensorBoard, and compares it with metrics.jsonl: run by hand.   check_tensorboard.py RUN...

    tapegrad train copy --max-steps 20 --tensorboard --out /tmp/run
    tapegrad train gpt --preset tiny --max-steps 20 --tensorboard --out /tmp/gpt
    check_tensorboard.py /tmp/run /tmp/gpt

Also after a kill and --resume. Needs PyPI's tensorboard."""
import json
import math
import sys

import numpy as np
from safetensors.numpy import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator as Migrated
from tensorboard.util import tensor_util

TAGS = {"train/loss": "loss", "train/accuracy": "accuracy", "train/lr": "lr", "train/tokens_per_s": "tokens_per_s",
        "evaluation/train_loss": "train_loss", "evaluation/validation_loss": "validation_loss"}

for run in sys.argv[1:]:
    lines = [json.loads(line) for line in open(run + "/metrics.jsonl")]
    steps = [line for line in lines if "step" in line]
    epochs = [line for line in lines if "epoch" in line]
    plain = EventAccumulator(run, size_guidance={"scalars": 0, "histograms": 0, "tensors": 0}).Reload()
    for tag, key in TAGS.items():
        expected = [(s["step"], s[key]) for s in steps if s.get(key) is not None]
        found = [(e.step, e.value) for e in plain.Scalars(tag)] if tag in plain.Tags()["scalars"] else []
        assert [s for s, _ in found] == [s for s, _ in expected], (run, tag)
        assert all(math.isclose(a, b, rel_tol=1e-3 if key == "tokens_per_s" else 1e-6)
                   for (_, a), (_, b) in zip(found, expected)), (run, tag)
    assert not epochs or len(plain.Scalars("epoch/loss")) == len(epochs), run
    evaluated = [s["step"] for s in steps if "validation_loss" in s]
    model = load_file(run + "/model.safetensors")
    histograms = plain.Tags()["histograms"]
    assert {tag.removeprefix("model/") for tag in histograms} <= set(model) and bool(histograms) == bool(evaluated), run
    for tag in histograms:
        found = plain.Histograms(tag)
        assert [e.step for e in found] == evaluated, (run, tag)
        for e in found:
            h, size = e.histogram_value, model[tag.removeprefix("model/")].size
            assert h.num == sum(h.bucket) <= size and np.all(np.diff(h.bucket_limit) >= 0), (run, tag)
    migrated = Migrated(run).Reload()  # as the pages of TensorBoard get them
    texts = {tag: tensor_util.make_ndarray(migrated.Tensors(tag)[-1].tensor_proto).item().decode()
             for tag in migrated.PluginTagToContent("text")}
    print(run, len(steps), "steps,", len(evaluated), "evaluations,", len(histograms), "histograms, texts:", list(texts))

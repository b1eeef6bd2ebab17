"""Writes llama_rope.json: what transformers computes with the weights of llama2_tiny/ under every form of rope_scaling (transformers 4)
and rope_parameters (5) in config.json, for tests/nn/models/llama.cpp. Needs transformers 5 and torch from PyPI."""
import json
import pathlib
import shutil
import tempfile

import torch
from transformers import LlamaForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
IDS = [[(7 * i) % 370 + 3 for i in range(24)]]
LLAMA3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)
CASES = [  # members that replace rope_parameters
    dict(),
    dict(rope_theta=500.0),
    dict(rope_scaling=None, rope_theta=500.0),
    dict(rope_scaling=dict(rope_type="llama3", **LLAMA3), rope_theta=500.0),
    dict(rope_scaling=dict(type="llama3", **LLAMA3), rope_theta=500.0),
    dict(rope_parameters=dict(rope_type="llama3", rope_theta=500.0, **LLAMA3)),
    dict(rope_scaling=dict(type="linear", factor=4.0)),
    dict(rope_scaling=dict(rope_type="linear", type="dynamic", factor=4.0)),
    dict(rope_scaling=dict(rope_type="linear", factor=2.0, rope_theta=300.0), rope_theta=500.0),
    dict(rope_scaling=dict(type="dynamic", factor=4.0)),
    dict(rope_scaling=dict(type="linear", factor=4.0), rope_parameters=dict(rope_type="default", rope_theta=500.0)),
    dict(rope_scaling={}, rope_parameters=dict(rope_type="linear", factor=3.0, rope_theta=500.0)),
    dict(rope_scaling=YARN),
    dict(rope_scaling=dict(type="yarn", factor=4.0, original_max_position_embeddings=16, finetuned=True)),
    dict(rope_scaling=dict(rope_type="yarn", factor=4.0)),
    dict(rope_scaling=dict(YARN, factor=None)),
    dict(rope_scaling=dict(YARN, attention_factor=0.7, truncate=False)),
    dict(rope_scaling=dict(YARN, beta_fast=8, beta_slow=0.5, truncate=False), rope_theta=100.0),
    dict(rope_scaling=dict(YARN, mscale=1.5, mscale_all_dim=0.5), rope_theta=100.0),
    dict(rope_scaling=dict(YARN, mscale=1.5)),
    dict(rope_scaling=dict(rope_type="yarn", factor=4.0), original_max_position_embeddings=8),
]

cases = []
for members in CASES:
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        config = json.loads((HERE / "llama2_tiny/config.json").read_text())
        del config["rope_parameters"]
        (folder / "config.json").write_text(json.dumps(config | members))
        shutil.copy(HERE / "llama2_tiny/model.safetensors", folder)
        model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        logits = model(torch.tensor(IDS)).logits[0, -1, :12]
    cases.append({"members": members, "logits": [float(f"{x:.7g}") for x in logits.tolist()]})
text = ",\n".join(json.dumps(case) for case in cases)
(HERE / "llama_rope.json").write_text('{"ids": %s, "cases": [\n%s\n]}\n' % (json.dumps(IDS), text))

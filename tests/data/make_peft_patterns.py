"""Writes peft_patterns/: updates for llama2_tiny/ whose ranks differ by layer, and in cases.json the members of adapter_config.json
that PEFT was given, with its logits, for tests/nn/models/lora.cpp. Needs transformers 5, peft, safetensors and torch from PyPI."""
import json
import pathlib

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE / "peft_patterns"
IDS = [[(7 * i) % 370 + 3 for i in range(12)]]
RANKS = {"layers.0.self_attn.q_proj": 3, "q_proj": 2, "v.proj": 1}
CASES = [
    dict(),
    dict(use_rslora=True),
    dict(init_lora_weights="gaussian"),
    dict(init_lora_weights="eva"),
    dict(init_lora_weights=False),
    dict(alpha_pattern={"q_proj": 32}),
    dict(alpha_pattern={"layers.0.self_attn.q_proj": 64, "q_proj": 16}),
    dict(alpha_pattern={"q_proj": 16, "layers.0.self_attn.q_proj": 64}),
    dict(alpha_pattern={"^q_proj": 64}),
    dict(alpha_pattern={"^layers.0.self_attn.q_proj": 64}),
    dict(alpha_pattern={"^model.layers.0.self_attn.q_proj": 64}, use_rslora=True),
    dict(alpha_pattern={"q.proj": 32, "proj": 5}),
    dict(alpha_pattern={r"self_attn\.v_proj$": 32, "_proj": 40}),
    dict(rank_pattern={"^model.layers.0.self_attn.q_proj": 3, "layers.1.self_attn.q_proj": 2, "v_proj": 1}),
]


def base():
    return LlamaForCausalLM.from_pretrained(HERE / "llama2_tiny", dtype=torch.float32, attn_implementation="eager").eval()


torch.manual_seed(3)
model = get_peft_model(base(), LoraConfig(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], rank_pattern=RANKS))
for name, p in model.named_parameters():
    if "lora_" in name:
        p.data = torch.randn_like(p) * 0.1
model.save_pretrained(OUT)
(OUT / "README.md").unlink(missing_ok=True)
written = json.loads((OUT / "adapter_config.json").read_text())
written["base_model_name_or_path"] = "llama2_tiny"
written["target_modules"].sort()
cases = []
for members in CASES:
    (OUT / "adapter_config.json").write_text(json.dumps(written | members))
    with torch.no_grad():
        logits = PeftModel.from_pretrained(base(), OUT).eval()(torch.tensor(IDS)).logits[0, -1, :12]
    cases.append({"members": members, "logits": [float(f"{x:.7g}") for x in logits.tolist()]})
(OUT / "adapter_config.json").write_text(json.dumps(written, indent=2) + "\n")
text = ",\n".join(json.dumps(case) for case in cases)
(OUT / "cases.json").write_text('{"ids": %s, "cases": [\n%s\n]}\n' % (json.dumps(IDS), text))

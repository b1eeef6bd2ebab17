"""Loads a run's adapter with PEFT and compares losses: run by hand.   check_adapter.py BASE ADAPTER TEXT LOSS

    tapegrad train gpt --from tests/data/hugging_face_gpt2 --text tests/data/the_verdict.txt --seq-length 24 \\
        --lora-rank 4 --lora-targets c_attn mlp.c_proj --lr 0.01 --max-steps 20 --out /tmp/run
    tapegrad test gpt --model /tmp/run --text tests/data/the_verdict.txt --max-tokens 1000 --json    # LOSS
    check_adapter.py tests/data/hugging_face_gpt2 /tmp/run/adapter tests/data/the_verdict.txt LOSS

and the same with tests/data/llama2_tiny or llama3_tiny and --lora-targets q_proj v_proj down_proj. LOSS is that of
`tapegrad test gpt` over the text's first 1,000 tokens, in windows of the model's context. Needs PyPI's transformers and
peft."""
import sys

import torch
from peft import PeftModel
from tokenizers import Tokenizer
from torch.nn import functional as F
from transformers import AutoModelForCausalLM

base, adapter, text, expected = sys.argv[1:]
plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
length = plain.config.max_position_embeddings
ids = torch.tensor(Tokenizer.from_file(base + "/tokenizer.json").encode(open(text).read(), add_special_tokens=False).ids[:1000])
starts = range(0, len(ids) - length, length)


def loss_of(model):
    model.eval()
    with torch.no_grad():
        losses = [F.cross_entropy(model(ids[i:i + length][None]).logits[0], ids[i + 1:i + length + 1]).item() for i in starts]
    return sum(losses) / len(losses)


without = loss_of(plain)
adapted = PeftModel.from_pretrained(plain, adapter)
found = loss_of(adapted)
merged = loss_of(adapted.merge_and_unload())
print(f"without adapter {without:.6f}, with {found:.6f}, merged {merged:.6f}, expected {float(expected):.6f}")
sys.exit(abs(found - float(expected)) > 1e-4 or abs(merged - found) > 1e-4 or abs(found - without) < 1e-3)

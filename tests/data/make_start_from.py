"""Makes hugging_face_gpt2/: a small random GPT-2 of transformers with a byte-pair tokenizer (config.json, model.safetensors,
tokenizer.json), the losses of 50 steps of its training in PyTorch on the_verdict.txt (losses.json), and an adapter of peft
for it with the logits that it gives (adapter/, adapter.json), for tests/tasks/gpt_from.cpp and gpt_lora.cpp.

    pip install torch transformers peft        (made with torch 2.15, transformers and peft of the versions in adapter.json)

Dropout is 0. Batches are those of PyTorch's DataLoader, as `tapegrad train gpt` draws them; the first step is followed by
an evaluation, whose loaders draw as well.
"""
import json
import pathlib
import shutil

import peft
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "hugging_face_gpt2"
TEXT = (HERE / "the_verdict.txt").read_text()
WINDOW, BATCH, STEPS, SEED = 24, 8, 50, 123
VOCABULARY, PADDED = 290, 296

shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir()

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.train_from_iterator([TEXT], trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<|endoftext|>"], show_progress=False,
                                                          initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
tokenizer.save(str(FOLDER / "tokenizer.json"))
assert tokenizer.get_vocab_size() == VOCABULARY

torch.manual_seed(1)
end = tokenizer.token_to_id("<|endoftext|>")
model = GPT2LMHeadModel(GPT2Config(vocab_size=PADDED, n_positions=32, n_embd=16, n_head=2, n_layer=2, resid_pdrop=0.0, embd_pdrop=0.0,
                                   attn_pdrop=0.0, initializer_range=0.15, bos_token_id=end, eos_token_id=end))
with torch.no_grad():
    for name, p in model.named_parameters():  # biases and norms that are not all alike
        if name.endswith(".bias") or ".ln_" in name:
            p.add_(0.1 * torch.randn_like(p))
model.save_pretrained(FOLDER)
for unneeded in ("generation_config.json",):
    (FOLDER / unneeded).unlink(missing_ok=True)


def loader(text, shuffle):
    ids = torch.tensor(tokenizer.encode(text).ids)
    starts = range(0, len(ids) - WINDOW, WINDOW)
    inputs = torch.stack([ids[i:i + WINDOW] for i in starts])
    targets = torch.stack([ids[i + 1:i + WINDOW + 1] for i in starts])
    return DataLoader(TensorDataset(inputs, targets), batch_size=BATCH, shuffle=shuffle, drop_last=shuffle)


def loss_of(x, y):
    return F.cross_entropy(model(x).logits.flatten(0, 1), y.flatten())


cut = int(0.9 * len(TEXT))
training, validation = loader(TEXT[:cut], True), loader(TEXT[cut:], False)
torch.manual_seed(SEED)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
model.train()
losses = []
while len(losses) < STEPS:
    for x, y in training:
        loss = loss_of(x, y)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if len(losses) == 1:
            next(iter(training)), next(iter(validation))  # the evaluation after the first step
        if len(losses) == STEPS:
            break
(FOLDER / "losses.json").write_text(json.dumps({"window": WINDOW, "batch": BATCH, "lr": 3e-3, "weight_decay": 0.1, "clip_grad": 1.0,
                                                "seed": SEED, "losses": [round(l, 7) for l in losses]}) + "\n")

# An adapter of each kind of layer, with random numbers in B.
model = GPT2LMHeadModel.from_pretrained(FOLDER)
torch.manual_seed(2)
adapted = peft.get_peft_model(model, peft.LoraConfig(r=3, lora_alpha=6, lora_dropout=0.0, target_modules=["c_attn", "attn.c_proj", "c_fc"],
                                                     fan_in_fan_out=True, task_type="CAUSAL_LM"))
with torch.no_grad():
    for name, p in adapted.named_parameters():
        if "lora_" in name:
            p.copy_(0.2 * torch.randn_like(p))
adapted.peft_config["default"].base_model_name_or_path = "hugging_face_gpt2"
adapted.save_pretrained(FOLDER / "adapter")
(FOLDER / "adapter" / "README.md").unlink(missing_ok=True)
ids = [[3, 14, 159, 26, 53, 58, 97, 93], [238, 46, 264, 33, 83, 279, 50, 28]]
adapted.eval()
with torch.no_grad():
    logits, base = adapted(torch.tensor(ids)).logits, adapted.get_base_model()
    with adapted.disable_adapter():
        plain = adapted(torch.tensor(ids)).logits
rounded = lambda x: [float(f"{v:.8g}") for v in x[:, -2:].flatten().tolist()]
(FOLDER / "adapter.json").write_text(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__,
                                                 "ids": ids, "last_two_logits": rounded(logits), "without_adapter": rounded(plain)}) + "\n")

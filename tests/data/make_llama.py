"""Writes llama2_tiny/ and llama3_tiny/: folders of random Llamas as Hugging Face writes them, each with expected.safetensors
(logits, loss and the gradient of every parameter), expected.json (greedy tokens, and what the tokenizer makes of texts) and
losses.json (the losses of 50 steps of training), for tests/nn/models/llama.cpp and tests/tasks/llama.cpp. Needs transformers 5, tokenizers and torch from PyPI.

llama2_tiny: an untied head, pieces of characters with byte fallback. llama3_tiny: a tied head, scaled RoPE, heads that are wider than
hidden_size / num_attention_heads, two shards, byte pairs with Llama-3's pattern.
"""
import json
import pathlib
import shutil

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch.utils.data import DataLoader, TensorDataset
from transformers import LlamaConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
TEXT = (HERE / "the_verdict.txt").read_text()[:6000]
TEXTS = ["Hello, I am", "  two  spaces ", "I'm WE'LL 'Twas it's", "12345 and 7.25", "line\n\n next\r\n  \tend", "가나다 é ☃ 🙂", "a\u00a0b\u2009c",
         "x=(y+1)*[2];\n\n\n", " ", "\n", "hel</s>lo <|eot_id|> there", "don'\u017f tabs\t\tin   it \n", "...?!\n\n--_ok", ""]
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
IDS = [[1, 5, 9, 200, 31, 7, 64, 2], [3, 300, 8, 8, 40, 77, 123, 11]]


def llama2_tokenizer():
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trained.train_from_iterator(TEXT.split("\n"), trainers.BpeTrainer(vocab_size=120, special_tokens=["<unk>", "<s>", "</s>"]))
    model = json.loads(trained.to_str())["model"]
    pieces = [t for t, _ in sorted(model["vocab"].items(), key=lambda item: item[1])]
    tokens = pieces[:3] + [f"<0x{b:02X}>" for b in range(256)] + pieces[3:]
    model.update(vocab={t: i for i, t in enumerate(tokens)}, byte_fallback=True, fuse_unk=True)
    whole = json.loads(trained.to_str())
    whole["model"] = model
    whole["added_tokens"] = [dict(id=i, content=t, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
                             for i, t in enumerate(tokens[:3])]
    result = Tokenizer.from_str(json.dumps(whole))
    result.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    result.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return result


def llama3_tokenizer():
    result = Tokenizer(models.BPE(ignore_merges=True))
    result.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERN), "isolated", False),
                                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    result.train_from_iterator([TEXT], trainers.BpeTrainer(vocab_size=340, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    result.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    begin = result.token_to_id(names[0])
    result.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(single=f"{names[0]} $A", special_tokens=[(names[0], begin)])])
    result.decoder = decoders.ByteLevel()
    return result


def write(name, tokenizer, config, shard_size, ends):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(7)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=tokenizer.get_vocab_size(), hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                         num_attention_heads=4, num_key_value_heads=2, attn_implementation="eager",
                                         initializer_range=0.3, **config))
    with torch.no_grad():  # not all ones
        for key, p in model.named_parameters():
            if "norm" in key:
                p.copy_(1 + 0.3 * torch.randn_like(p))
    model.generation_config.eos_token_id = ends
    model.eval().save_pretrained(folder, max_shard_size=shard_size)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    ids = torch.tensor(IDS)
    start = ids[:1, :4]
    greedy = start
    for _ in range(24):
        greedy = torch.cat([greedy, model(greedy).logits[:, -1:].argmax(-1)], 1)
    model = model.double()
    logits = model(ids).logits
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    expected = {"logits": logits.detach().float(), "loss": loss.detach().float()[None]}
    expected |= {f"grad.{key}": p.grad.float().contiguous() for key, p in model.named_parameters()}
    save_file(expected, folder / "expected.safetensors")
    texts = []
    for text in TEXTS:
        encoded = tokenizer.encode(text)
        texts.append({"text": text, "ids": encoded.ids, "decoded": tokenizer.decode(encoded.ids, skip_special_tokens=False)})
    data = {"ids": IDS, "start": start[0].tolist(), "greedy": greedy[0, 4:].tolist(), "texts": texts}
    (folder / "expected.json").write_text(json.dumps(data, ensure_ascii=True, separators=(",", ":")) + "\n")


def losses_in(dtype, name, seed, steps=50, window=24, batch=8):
    """The losses of training on the_verdict.txt, as make_start_from.py has them for GPT-2."""
    model = LlamaForCausalLM.from_pretrained(HERE / name, attn_implementation="eager").to(dtype)
    tokenizer = Tokenizer.from_file(str(HERE / name / "tokenizer.json"))
    text = (HERE / "the_verdict.txt").read_text()

    def loader(part, shuffle):
        ids = torch.tensor(tokenizer.encode(part, add_special_tokens=False).ids)
        starts = range(0, len(ids) - window, window)
        pairs = [torch.stack([ids[i + k:i + k + window] for i in starts]) for k in (0, 1)]
        return DataLoader(TensorDataset(*pairs), batch_size=batch, shuffle=shuffle, drop_last=shuffle)

    cut = int(0.9 * len(text))
    training, validation = loader(text[:cut], True), loader(text[cut:], False)
    torch.manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    model.train()
    found = []
    while len(found) < steps:
        for x, y in training:
            loss = torch.nn.functional.cross_entropy(model(x).logits.flatten(0, 1), y.flatten())
            found.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if len(found) == 1:
                next(iter(training)), next(iter(validation))  # the evaluation after the first step
            if len(found) == steps:
                break
    return found


def losses(name, seed):
    """Writes losses.json. A gradient of about 1e-8 in the first step, which is mostly rounding, moves a weight by any part of
    the rate, because Adam divides by its size: then the losses of float32 are not determined, and another seed is needed."""
    found, exact = losses_in(torch.float32, name, seed), losses_in(torch.float64, name, seed)
    difference = max(abs(a - b) for a, b in zip(found, exact))
    assert difference < 1e-5, f"{name}: float32 and float64 differ by {difference}"
    (HERE / name / "losses.json").write_text(json.dumps({"seed": seed, "losses": [round(l, 7) for l in found]}) + "\n")


write("llama2_tiny", llama2_tokenizer(), dict(max_position_embeddings=64, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2), "1GB", 2)
three = llama3_tokenizer()
write("llama3_tiny", three,
      dict(max_position_embeddings=128, head_dim=6, tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
           bos_token_id=three.token_to_id("<|begin_of_text|>"),
           eos_token_id=[three.token_to_id("<|end_of_text|>"), three.token_to_id("<|eot_id|>")],
           rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                original_max_position_embeddings=32)),
      "20KB", [three.token_to_id("<|end_of_text|>"), three.token_to_id("<|eot_id|>")])
losses("llama2_tiny", 124)
losses("llama3_tiny", 123)

"""Makes gpt2_verdict/: those of GPT-2's tokens and merges that its tokenizer goes through on The Verdict, under their own
ids, and checks the ids of the_verdict.json.   make_the_verdict.py GPT2_FOLDER   (with encoder.json and vocab.bpe)

pip install regex. the_verdict.txt is Edith Wharton's story of 1908, which is in the public domain. A merge that never
comes first on this text changes nothing on it when it is missing."""
import json
import os
import sys

import regex

HERE = os.path.dirname(os.path.abspath(__file__))
END = "<|endoftext|>"
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# The printable characters that stand for bytes in a vocabulary.
printable = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255]
symbol = {b: chr(b) for b in printable}
symbol.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in symbol)})


def encode(text, vocabulary, ranks, used):
    ids = []
    for word in regex.findall(PATTERN, text):
        parts = [symbol[b] for b in word.encode()]
        while len(parts) > 1:
            rank, at = min((ranks.get(pair, len(ranks)), i) for i, pair in enumerate(zip(parts, parts[1:])))
            if rank == len(ranks):
                break
            used.add(rank)
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        ids += [vocabulary[part] for part in parts]
    return ids


def main(folder):
    vocabulary = json.load(open(os.path.join(folder, "encoder.json"), encoding="utf-8"))
    lines = open(os.path.join(folder, "vocab.bpe"), encoding="utf-8").read().split("\n")[1:]
    merges = [tuple(line.split()) for line in lines if line]
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    text = open(os.path.join(HERE, "the_verdict.txt"), encoding="utf-8").read()
    cut = int(0.9 * len(text))
    used = set()
    stored = json.load(open(os.path.join(HERE, "the_verdict.json"), encoding="utf-8"))
    assert encode(text[:cut], vocabulary, ranks, used) == stored["train"]
    assert encode(text[cut:], vocabulary, ranks, used) == stored["validation"]
    assert len(encode(text, vocabulary, ranks, used)) == 5145
    encode("Every effort moves you", vocabulary, ranks, used)
    kept = [merges[rank] for rank in sorted(used)]
    tokens = {*symbol.values(), *(left + right for left, right in kept), END}
    os.makedirs(os.path.join(HERE, "gpt2_verdict"), exist_ok=True)
    with open(os.path.join(HERE, "gpt2_verdict", "vocab.bpe"), "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in kept))
    with open(os.path.join(HERE, "gpt2_verdict", "encoder.json"), "w", encoding="utf-8") as file:
        json.dump({token: vocabulary[token] for token in sorted(tokens, key=vocabulary.get)}, file, ensure_ascii=False)
    print(len(text), "characters,", len(kept), "merges,", len(tokens), "tokens")


main(sys.argv[1])

"""Byte-pair encoding of a text file by tapegrad, tiktoken and Hugging Face's tokenizers: MB per second of processor time
on one thread, and of real time on N.

    PYTHON bench/peers/tokenize_text.py TEXT VOCABULARY [THREADS]      # VOCABULARY: a folder with encoder.json, vocab.bpe

The text must be valid UTF-8. All three must find the same ids. Needs tiktoken and tokenizers (pip install).
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

PIECE = 1 << 20  # characters of the pieces that the peers encode in parallel


def measure(name, size, threads, encode):
    """Prints the rates of encode(), and returns its ids."""
    real, processor = time.perf_counter(), sum(os.times()[:4])
    ids = encode()
    real, processor = time.perf_counter() - real, sum(os.times()[:4]) - processor
    print(f"{name:12} {threads} threads: {size / real / 1e6:7.2f} MB/s, {size / processor / 1e6:7.2f} MB per second of "
          f"processor time, {len(ids)} tokens", flush=True)
    return ids


def pieces_of(text):
    """Pieces that end before an end of line which follows a letter, so that no word reaches over."""
    pieces, at = [], 0
    while at < len(text):
        end = text.find("\n", at + PIECE)
        while end > 0 and not text[end - 1].isalpha():
            end = text.find("\n", end + 1)
        end = len(text) if end < 0 else end
        pieces.append(text[at:end])
        at = end
    return pieces


def tapegrad(path, folder, size, threads):
    command = os.path.join(os.path.dirname(__file__), "../../build/release/tapegrad")
    with tempfile.TemporaryDirectory() as out:
        file = os.path.join(out, "a.tokens")

        def encode(n):
            subprocess.run([command, "tokenize", "--tokenizer", folder, "--text", path, "--save", file, "--threads",
                            str(n)], check=True, stdout=subprocess.DEVNULL)
            return np.fromfile(file, dtype=np.uint16, offset=256)
        return [measure("tapegrad", size, n, lambda: encode(n)) for n in sorted({1, threads})][-1]


def tiktoken(path, folder, size, threads):
    import tiktoken as library
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
    ranks = data_gym_to_mergeable_bpe_ranks(os.path.join(folder, "vocab.bpe"), os.path.join(folder, "encoder.json"))
    pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
    encoding = library.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks,
                                special_tokens={"<|endoftext|>": 50256})
    pieces = pieces_of(open(path, encoding="utf-8", newline="").read())
    return [measure("tiktoken", size, n, lambda: np.concatenate(
        [np.array(ids, dtype=np.uint16) for ids in encoding.encode_batch(pieces, num_threads=n, allowed_special="all")]))
        for n in sorted({1, threads})][-1]


def hugging_face(path, folder, size, threads):
    """The library reads its number of threads once: each number has a process of its own."""
    with tempfile.TemporaryDirectory() as out:
        file = os.path.join(out, "ids.npy")
        for n in sorted({threads, 1}, reverse=True):
            subprocess.run([sys.executable, __file__, path, folder, str(n), file], check=True,
                           env=dict(os.environ, RAYON_NUM_THREADS=str(n)))
        return np.load(file)


def hugging_face_here(path, folder, size, threads, file):
    from tokenizers import Tokenizer, models, pre_tokenizers
    pieces = pieces_of(open(path, encoding="utf-8", newline="").read())
    vocabulary = json.load(open(os.path.join(folder, "encoder.json")))
    merges = [tuple(line.split()) for line in
              open(os.path.join(folder, "vocab.bpe"), encoding="utf-8").read().split("\n")[1:] if line]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    np.save(file, measure("tokenizers", size, threads, lambda: np.concatenate(
        [np.array(one.ids, dtype=np.uint16) for first in range(0, len(pieces), 16)
         for one in tokenizer.encode_batch_fast(pieces[first:first + 16])])))


def main():
    path, folder = sys.argv[1:3]
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else os.cpu_count()
    size = os.path.getsize(path)
    if len(sys.argv) > 4:
        hugging_face_here(path, folder, size, threads, sys.argv[4])
        return
    ours = tapegrad(path, folder, size, threads)
    same = [np.array_equal(ours, peer(path, folder, size, threads)) for peer in (tiktoken, hugging_face)]
    print(f"same ids as tiktoken: {same[0]}, as tokenizers: {same[1]}")
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()

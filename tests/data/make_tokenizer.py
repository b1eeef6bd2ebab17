"""Makes tokenizer.json and gpt2_cut/: what Hugging Face's tokenizers, tiktoken and a regular expression give on text
that is hard to cut.   make_tokenizer.py GPT2_FOLDER   (with encoder.json and vocab.bpe, which are GPT-2's, MIT licence)

pip install tokenizers tiktoken regex. With --classes it prints the tables of
tasks/data/tokenizers/detail/unicode_ranges.inc instead."""
import json
import os
import random
import sys

import regex
import tiktoken
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
MERGES = 1000  # of GPT-2's 50,000
END = "<|endoftext|>"
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# The printable characters that stand for bytes in a vocabulary.
printable = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255]
symbol = {b: chr(b) for b in printable}
symbol.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in symbol)})
byte_of = {s: b for b, s in symbol.items()}


def hugging_face(vocab, merges):
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END])
    return tokenizer


def classes():
    """Runs of letters, numbers and white space from U+0080 on, as the cutting of Hugging Face shows them."""
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    runs = {"letter": [], "number": [], "space": []}
    for code in range(0x80, 0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        for start, name in (("a", "letter"), ("1", "number"), ("!", None), ("", "space")):
            if len(cut(start + chr(code))) == 1:
                break
        if name:
            if runs[name] and runs[name][-1][1] == code - 1:
                runs[name][-1][1] = code
            else:
                runs[name].append([code, code])
    for name, ranges in runs.items():
        print(name, ", ".join("{0x%x, 0x%x}" % tuple(r) for r in ranges))


HARD = [
    "", " ", "  ", "   ", "\n", "\n\n", " \n", "\n ", "\t", "\r\n", "a", " a", "  a", "   a", "a ", "a  ", "a \n", "\na", "\n\na",
    "\n a", " \na", "a\r\nb", "a\r\n\r\nb\r\n", "\ta", "\t\ta", " \ta", "\t a", "a\tb", "a \t b", "x" + " " * 50 + "y", " " * 33,
    "Hello, world! I'm here; you're there. They've gone, we'll see, he'd say it's John's. DON'T, I'M", "'s't're've'm'll'd", "''s", "' s",
    "'", "''", " 's", " 'll", "a's", "1's", "'S", "’s", "it''s", "'sa", "'t1", "'re re", "'v", "'l", "'r", "!'s", "'s!",
    "123 45.67 1,000,000 3e-5 0x1F a1b2 1a 2b x² ½ Ⅷ ① ٣٤٥ १२३ 三", "abc123def", "abc 123 def", "C++20", "<html>&amp;</html>",
    "for (int i = 0; i < n; ++i) {\n    x[i] += 1;  // sum\n}\n", "def f(x):\n\treturn x\n\n\n", "https://example.org/a?b=c&d=%20#e", "a@b.c",
    "...", "!!!", "!?!?", "-----", "==== ====", " !", "  !", "! a", "(a)", "\"quoted\"", "snake_case CamelCase",
    "안녕하세요, 세계! 오늘은 날씨가 좋습니다.", "한국어 문장은 여러 글자로 이루어집니다.\n다음 줄입니다.", "ㄱㄴㄷㅏㅑ", "가각갂", "\u1112\u1161\u11ab",  # jamo that combine
    "こんにちは、世界。カタカナ ﾊﾝｶｸ ー", "你好，世界！中文没有空格。", "𠀀𠀁𪛖", "Ελληνικά Русский עברית العربية हिन्दी ไทย", "Ünïcödé façade naïve œuvre ß ﬁ",
    "e\u0301 a\u0308\u0304 n\u0303o", "\u0301", " \u0301", "a\u0301", "1\u20e3", "\u200b\u200d\ufeff", "\ufeffstart", "a\u200db", "नमस्ते क्षि", "\u0e33\u0e4d",
    "🙂", " 🙂", "🙂🙂", "👩‍👩‍👧‍👦 👍🏽 🇰🇷🇰🇵 ☺️ ✨🎉", "a🙂b", "1🙂2", "🙂 a", "\U0001f9d1\U0001f3fb\u200d\U0001f4bb", "\U0010ffff\U000e0001", "\ue000\uf8ff",
    "\u00a0", "a\u00a0b", "a\u00a0\u00a0b", "\u3000a", "a\u3000\u3000b", "\u2028\u2029", "a\u2028b", "\u0085", "a\u1680b", "\u2003\u2009a", "\u202f1", "\x1c\x1d\x1e\x1f", "a\x1cb", "\x0b\x0c",
    "\x00", "a\x00b", "\x00\x00", "\x7f", "\x01\x02\x1b[31m",
    END, "a" + END + "b", END + END, " " + END + " ", "<|endoftext|", "<|endoftext |>", "<<|endoftext|>>", END + "\n\n" + END, "\n" + END, "한" + END + "국",
    "a" * 100, "ab" * 100, "the" * 60, "z" * 257, " the" * 40, "hahaha" * 20, "0" * 99, "가" * 50, "🙂" * 30, "\n" * 65, "- " * 40, "=" * 80,
    "\u0130\u0131 \u017f K Å", "ǅ ǆ ʰ ª º", "ೞ ୱ ⅒ ⓪ ㊀ ㉑ 𝟘𝟙 𐄇 ፩", "॥ ฿ € £ ¥ ₩ ™ © ° ± × ÷ ∑ ∞ ≠", "\u2018quotes\u2019 \u201cdouble\u201d \u2013 \u2014 \u2026 \u00b7",
]
BROKEN = [
    "80", "bf", "c0", "ff", "fe", "c3", "e2", "e282", "f0", "f09f", "f09f98", "c080", "e08080", "eda080", "f4908080", "f8888080",
    "61ff62", "61c3", "c361", "20ff", "ff20", "2080", "0aff", "ff0a", "ffff", "31ff32", "e282e282ac", "f09f9881f09f98", "eca095ec", "61e29a", "c3a9c3", "ff27732027",
    "fffe41004200", "3c7c656e646f66746578747cff3e", "3c7c656e646f66746578747c3eff", "20c2", "c2a0c2", "e38080e380",
]


def random_texts(count):
    draw = random.Random(20)
    parts = ["a", "Z", "e\u0301", "1", "²", " ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "'", "'s", "'re", "'ll", "!", ".", "_", "한", "글", "日", "🙂", "👍🏽",
             "the", " the", "ing", "\u200d", "\ufeff", END, "\x00", "É", "ß", "١", "Ⅷ", "क्ष", "\x1f", "\u2028", "<|"]
    return ["".join(draw.choice(parts) for _ in range(draw.randint(2, 30))) for _ in range(count)]


def random_bytes(count):
    draw = random.Random(21)
    pieces = [b"a", b"1", b" ", b"\n", b"'s", b"!", "한".encode(), "🙂".encode(), "é".encode()] + [bytes([b]) for b in (0x80, 0xBF, 0xC3, 0xE2, 0xED, 0xF0, 0xFF, 0xA0, 0x85)]
    return [b"".join(draw.choice(pieces) for _ in range(draw.randint(2, 20))) for _ in range(count)]


def main():
    if sys.argv[1] == "--classes":
        return classes()
    with open(os.path.join(sys.argv[1], "encoder.json"), encoding="utf-8") as file:
        whole = json.load(file)
    with open(os.path.join(sys.argv[1], "vocab.bpe"), encoding="utf-8") as file:
        lines = file.read().split("\n")[1:-1]
    vocab = {token: i for token, i in whole.items() if i < 256 + MERGES}
    vocab[END] = 256 + MERGES
    merges = [tuple(line.split(" ")) for line in lines[:MERGES]]
    tokenizer = hugging_face(vocab, merges)
    ranks = {bytes(byte_of[c] for c in token): i for token, i in vocab.items() if token != END}
    tik = tiktoken.Encoding("cut", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={END: vocab[END]})
    pattern = regex.compile(PATTERN)

    os.makedirs(os.path.join(HERE, "gpt2_cut"), exist_ok=True)
    with open(os.path.join(HERE, "gpt2_cut", "encoder.json"), "w", encoding="utf-8") as file:
        json.dump(vocab, file)
    with open(os.path.join(HERE, "gpt2_cut", "vocab.bpe"), "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in merges))
    tokenizer.save(os.path.join(HERE, "gpt2_cut", "hugging_face.json"), pretty=False)

    cases = []
    for text in HARD + random_texts(150):
        ids = tokenizer.encode(text).ids
        assert ids == tik.encode(text, allowed_special="all"), (text, ids)
        cases.append({"text": text, "ids": ids})
    for data in [bytes.fromhex(h) for h in BROKEN] + random_bytes(60):
        ids = []
        parts = data.split(END.encode())
        for i, part in enumerate(parts):
            for word in pattern.findall(part.decode("utf-8", "surrogateescape")):
                ids += tik._encode_single_piece(word.encode("utf-8", "surrogateescape"))
            ids += [vocab[END]] * (i + 1 < len(parts))
        cases.append({"hex": data.hex(), "replaced": data.decode("utf-8", "replace"), "ids": ids})

    learned = ("A byte pair is learned where two tokens stand side by side most often. The pairs of a text are counted, the best one is merged, "
               "and the counting begins again: tokens, pairs, merges, tokens.\n가나다라마바사 가나다라 가나다 가나 다라마 바사 나다라\n\n"
               "aaaaaaaa aaaa aaa aa abababab ababab abab\n" + END + "The tokenizer's text isn't long, but it's long enough: 1010 10101 101 0101.\n") * 2
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=399, min_frequency=2, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    trained.train_from_iterator(learned.split(END), trainer)
    state = json.loads(trained.to_str())["model"]
    golden = {"cases": cases, "training": {"text": learned, "vocab_size": 400, "merges": [" ".join(m) for m in state["merges"]]}}
    with open(os.path.join(HERE, "tokenizer.json"), "w", encoding="utf-8") as file:
        file.write('{"cases":[\n' + ",\n".join(json.dumps(c) for c in cases) + '\n],\n"training":' + json.dumps(golden["training"]) + "}\n")
    print(len(cases), "cases,", len(state["merges"]), "merges learned")


main()

"""Writes metrics.json: 500 pairs of texts with their ROUGE, BLEU and answer scores, and the scores of two classifiers.

Needs rouge-score 0.1.2, sacrebleu 2 and scikit-learn 1 from PyPI. The texts are random; the rule for answers is that of
SQuAD 1.1, written here as regular expressions.
"""
import collections
import json
import pathlib
import random
import re
import string

import sacrebleu
import sklearn.metrics
from rouge_score import rouge_scorer

random.seed(20261122)
WORDS = ("the a an small fast library reads writes files of images and sound in C++ 1,000 2.5 3-4 x86-64 don't it's (e.g. "
         "GNU/Linux [optional] \"quoted\" &amp; &lt;b&gt; &quot;q&quot; user@example.org 50% a_b <skipped> end. Hello, "
         "Zürich naïve Ελλάδα пакет 日本語 co-operate -x --long 10- .5 5. ,comma comma, The An A theatre another I18N").split()
ODD = ["İstanbul", "273\u212a", "a\u00a0b", "x\u2003y", "tab\tbed", "line-\nbreak", "two\nlines", "…", "“the”", "₤"]


def text(length):
    return " ".join(random.choice(ODD) if random.random() < 0.04 else random.choice(WORDS) for _ in range(length))


def changed(original):
    words = original.split(" ")
    out = []
    for word in words:
        draw = random.random()
        if draw < 0.7:
            out.append(word)
        elif draw < 0.8:
            out.append(random.choice(WORDS))
        elif draw < 0.87:
            out.extend([word, word])
    if random.random() < 0.3 and len(out) > 2:
        i = random.randrange(len(out))
        out = out[i:] + out[:i]
    return " ".join(out)


def normalized(answer):
    kept = "".join(c for c in answer.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def answer_scores(prediction, reference):
    p, r = normalized(prediction), normalized(reference)
    shared = sum((collections.Counter(p) & collections.Counter(r)).values())
    f1 = 2 * (shared / len(p)) * (shared / len(r)) / (shared / len(p) + shared / len(r)) if shared else 0
    return [p == r, f1]


def with_ascii_case(s):  # the answers' rule here keeps the case of letters beyond ASCII
    return "".join(c if ord(c) < 128 else c.lower() for c in s)


scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"])
pairs = []
for i in range(500):
    reference = text(random.choice([0, 1, 2, 3, 5, 8, 12, 20, 40]) if i % 10 else i % 3)
    prediction = changed(reference) if i % 5 else text(random.randrange(12))
    rouge = scorer.score(reference, prediction)
    answer = [with_ascii_case(" ".join(t.split(" ")[:6])) for t in (prediction, reference)]
    if i % 7 == 0:
        answer[0] = "The " + answer[1].upper() + "." if answer[1].isascii() else answer[1]
    answer = [t.replace("\u212a", "K").replace("İ", "I").lower() if not t.isascii() else t for t in answer]
    pairs.append({
        "prediction": prediction,
        "reference": reference,
        "rouge": [list(rouge[kind]) for kind in ("rouge1", "rouge2", "rougeL")],
        "words": sacrebleu.metrics.BLEU().tokenizer(prediction.rstrip()),
        "bleu": sacrebleu.sentence_bleu(prediction, [reference]).score,
        "answer": answer,
        "answer_scores": answer_scores(*answer),
    })
corpora = []
for first, last in ((0, 500), (0, 100), (250, 260), (100, 103)):
    some = pairs[first:last]
    bleu = sacrebleu.corpus_bleu([p["prediction"] for p in some], [[p["reference"] for p in some]], force=True)
    corpora.append({"first": first, "last": last, "score": bleu.score, "precisions": bleu.precisions, "penalty": bleu.bp,
                    "length": bleu.sys_len, "reference_length": bleu.ref_len})
classifiers = []
for classes, absent in ((5, 0), (9, 2)):
    expected = [random.randrange(classes - absent) for _ in range(200)]
    predicted = [e if random.random() < 0.6 else random.randrange(classes - absent) for e in expected]
    classifiers.append({"classes": classes, "expected": expected, "predicted": predicted,
                        "accuracy": sklearn.metrics.accuracy_score(expected, predicted),
                        "macro_f1": sklearn.metrics.f1_score(expected, predicted, average="macro")})
path = pathlib.Path(__file__).with_name("metrics.json")
lines = ",\n".join(json.dumps(p, ensure_ascii=False) for p in pairs)
path.write_text('{"pairs": [\n' + lines + '],\n"corpora": ' + json.dumps(corpora) + ',\n"classifiers": '
                + json.dumps(classifiers) + "}\n")
print(len(pairs), "pairs", path.stat().st_size, "bytes")

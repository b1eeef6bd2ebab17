#!/usr/bin/env python3
"""hero.py STEP=RUN... HERO   draws the picture of README.md from runs of `train copy`, and of `attention copy` in their folders

The last run is the whole one: its metrics.jsonl has the curve and the fingerprint. docs/pictures.sh makes the runs.
"""
import json
import math
import pathlib
import re
import sys

HEAD = "cross layer 0, head 0"
LENGTH, KINDS, GROUP = 20, 19, 25  # tokens of a sequence, different tokens, steps that are one point of the curve
LOW, HIGH = 1e-4, 6.0
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, CELL, MAPS = 860, 384, 60, 304, 60, 262, 8, 340
STYLE = """svg .strip { fill: #f3f5f8; } svg .good { fill: #00775a; } svg .bad { fill: #b84a00; } svg .dot { fill: #b84a00; }
svg text.dot { fill: #ffffff; font-weight: 600; } svg .band { fill: #1f6fb4; fill-opacity: 0.2; } svg .limit { stroke: #00775a; }
svg text.print { font: 600 18px ui-monospace, "DejaVu Sans Mono", monospace; fill: #0b5394; }
svg text.good { fill: #00775a; font-weight: 600; } svg text.bad { fill: #b84a00; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  svg .paper { fill: #171b21; } svg .strip { fill: #1f252d; } svg .good { fill: #4cc9a0; } svg .bad { fill: #f09a5c; }
  svg .dot { fill: #f09a5c; } svg text.dot { fill: #171b21; } svg .band { fill: #63aef0; } svg .limit { stroke: #4cc9a0; }
  svg text.print { fill: #6db8ff; } svg text.good { fill: #4cc9a0; } svg text.bad { fill: #f09a5c; }
}
"""


def x_of(step):
    return LEFT + (RIGHT - LEFT) * step / 5000


def y_of(loss):
    place = (math.log10(max(loss, LOW)) - math.log10(LOW)) / (math.log10(HIGH) - math.log10(LOW))
    return BOTTOM - (BOTTOM - TOP) * place


def text(x, y, words, kind="", anchor=""):
    kind = f' class="{kind}"' if kind else ""
    anchor = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}{anchor}>{words}</text>'


def path(kind, points, closed=False):
    return f'<path class="{kind}" d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + ('Z"/>' if closed else '"/>')


def axes():
    yield text(16, 22, f"Learning to copy {LENGTH} tokens", "title")
    yield text(16, 41, "loss per token, logarithmic", "small")
    for exponent in range(-4, 1):
        y = y_of(10.0**exponent)
        yield f'<path class="rule" d="M{LEFT} {y:.1f}H{RIGHT}"/>'
        yield text(LEFT - 8, y + 4, f"{10.0**exponent:g}", "small", "end")
    for step in range(0, 5001, 1000):
        yield text(x_of(step), BOTTOM + 18, f"{step:,}", "small", "middle")
    yield text((LEFT + RIGHT) / 2, BOTTOM + 34, "training step", "small", "middle")
    y = y_of(math.log(KINDS))
    yield f'<path class="limit dashed" d="M{LEFT} {y:.1f}H{RIGHT}"/>'
    yield text(RIGHT, y - 5, f"guessing: ln {KINDS}", "small", "end")


def curve(losses):
    groups = [losses[i:i + GROUP] for i in range(0, len(losses), GROUP)]
    at = [x_of((i + 0.5) * GROUP) for i in range(len(groups))]
    yield path("band", [(x, y_of(max(g))) for x, g in zip(at, groups)] +
               [(x, y_of(min(g))) for x, g in reversed(list(zip(at, groups)))], closed=True)
    yield path("line c0", [(x, y_of(sum(g) / len(g))) for x, g in zip(at, groups)])
    yield text(x_of(1800), y_of(0.14), f"mean and range of {GROUP} steps", "small")


def numbered(x, y, number):
    yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="8"/>'
    yield text(x, y + 4, number, "small dot", "middle")


def cells(weights, left, top):
    """The squares of a map, one path for each of 16 shades: the square root of the weight is the opacity."""
    shades = {}
    for i, weight in enumerate(weights):
        shade = round(16 * math.sqrt(weight))
        shades.setdefault(shade, []).append(f"M{left + i % LENGTH * CELL} {top + i // LENGTH * CELL}h{CELL}v{CELL}h-{CELL}z")
    shades.pop(0, None)
    for shade, squares in sorted(shades.items()):
        yield f'<path class="heat" fill-opacity="{shade / 16:.2f}" d="{"".join(squares)}"/>'


def attention_map(number, step, run, losses):
    page = (run / "attention.html").read_text(encoding="utf-8")
    data = [json.loads(block) for block in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S)]
    data = next(block for block in data if "heads" in block)
    head = next(head for head in data["heads"] if head["name"] == HEAD)
    weights = [weight for row in head["weights"] for weight in row] if isinstance(head["weights"][0], list) else head["weights"]
    scale = 10000 if max(weights) > 1.5 else 1
    written = [step["likely"][0][0] for step in data["decoding"]["steps"]]
    right = [mine == source for mine, source in zip(written, head["columns"])]
    left, top = MAPS + (number - 1) * 176, 76
    near = losses[max(0, step - GROUP):step] or losses[:1]
    yield from numbered(x_of(step), y_of(sum(near) / len(near)), number)
    yield from numbered(left + 8, top - 14, number)
    yield text(left + 22, top - 10, f"step {step:,}", "label")
    yield f'<rect class="strip" x="{left}" y="{top}" width="{LENGTH * CELL}" height="{LENGTH * CELL}"/>'
    yield from cells([weight / scale for weight in weights], left, top)
    yield f'<rect class="frame" x="{left}" y="{top}" width="{LENGTH * CELL}" height="{LENGTH * CELL}"/>'
    below, count = top + LENGTH * CELL, sum(right)
    yield text(left, below + 20, f"{count} of {LENGTH} tokens correct", "good" if count == LENGTH else "bad")
    for i, correct in enumerate(right):
        yield f'<rect class="{"good" if correct else "bad"}" x="{left + i * CELL + 0.8:.1f}" y="{below + 28}" width="6.4" height="8" rx="1.5"/>'


def heading():
    yield text(MAPS, 22, "Which input each output token attends to", "title")
    yield text(MAPS, 41, f"{HEAD.replace('cross', 'cross-attention,')}; rows: output, columns: input", "small")
    for i in range(16):
        yield f'<rect class="heat" fill-opacity="{(i + 1) / 16:.2f}" x="{748 + i * 5}" y="14" width="5" height="9"/>'
    yield text(742, 23, "weight 0", "small", "end")
    yield text(834, 23, "1", "small")


def strip(fingerprint):
    yield f'<rect class="strip" x="16" y="312" width="{WIDTH - 32}" height="58" rx="8"/>'
    yield text(32, 347, fingerprint, "print")
    yield text(262, 336, "The same fingerprint every time", "title")
    yield text(262, 356, "1 thread or 7 · 1 process or 4 · AVX2 or AVX-512 · killed and resumed", "small")
    yield text(WIDTH - 32, 336, "tapegrad train copy --seed 0", "code", "end")


def main():
    runs = [(int(step), pathlib.Path(run)) for step, run in (run.split("=") for run in sys.argv[1:-1])]
    whole = runs[-1][1]
    lines = [json.loads(line) for line in (whole / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = [line["loss"] / LENGTH for line in lines if "step" in line]
    style = re.search(r"<style>\n(.*?)</style>", (whole / "attention.svg").read_text(encoding="utf-8"), re.S).group(1)
    body = [*axes(), *curve(losses), *heading()]
    for number, (step, run) in enumerate(runs, 1):
        body += attention_map(number, step, run, losses)
    body += strip(next(line["bits"] for line in lines if "bits" in line))
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    paper = f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>'
    pathlib.Path(sys.argv[-1]).write_text("\n".join(
        ['<?xml version="1.0" encoding="UTF-8"?>', picture, f"<style>\n{style}{STYLE}</style>", paper, *body, "</svg>", ""]),
        encoding="utf-8")


if __name__ == "__main__":
    main()

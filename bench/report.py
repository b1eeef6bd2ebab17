"""Results of bench/run.py: their statistics, the table, and the comparison of two of them."""
import statistics

PEER_NAMES = {"before": "before: the build of --before", "A": "A: PyTorch as installed",
              "B": "B: PyTorch with all of MKL's kernels", "jax": "JAX", "libtorch": "LibTorch", "llama.cpp": "llama.cpp",
              "CTranslate2": "CTranslate2"}


def spread(values):
    """Median, quartiles and range of one value per round."""
    ordered = sorted(values)
    q1, _, q3 = statistics.quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else ordered * 3
    return {"median": statistics.median(ordered), "quartiles": [q1, q3], "range": [ordered[0], ordered[-1]]}


def figure(value):
    """Three significant digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def with_spread(s, scale=1.0):
    q1, q3 = (figure(q * scale) for q in s["quartiles"])
    return f"{figure(s['median'] * scale)} ({q1} - {q3})"


def of_column(row, key):
    """The side of a row that a column shows: of B, the faster of eager and compiled."""
    sides = row["sides"]
    if key != "B":
        return sides.get(key)
    both = [sides[k] for k in ("B", "B compiled") if k in sides]
    return min(both, key=lambda side: side["ms"]["median"], default=None)


def table(result):
    """The result in Markdown."""
    rows = result["rows"]
    peers = [key for key in PEER_NAMES if any(of_column(row, key) for row in rows)]
    head = ["row", "ours"] + [cell for key in peers for cell in (key.replace("jax", "JAX").replace("libtorch", "LibTorch"),
                                                                 "/ ours")]
    rates = any(row.get("gflops") for row in rows)
    memory = any("peak_mib" in row["sides"]["ours"] for row in rows)
    losses = any(row.get("losses") for row in rows)
    head += ["GFLOP/s, of the peak"] * rates + ["first step, of later ones"] * memory
    head += ["MiB"] * memory + ["MiB, A"] * (memory and "A" in peers) + ["first losses"] * losses + ["others' load"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        ours, scale = row["sides"]["ours"], 1 / row["per"]
        title = row["title"] + ("" if row["unit"] == "ms" else f", {row['unit']}")
        cells = [title, with_spread(ours["ms"], scale)]
        for key in peers:
            side = of_column(row, key)
            compiled = " compiled" if side and side is row["sides"].get("B compiled") and key == "B" else ""
            cells += [figure(side["ms"]["median"] * scale) + compiled, with_spread(side["ratio"])] if side else ["", ""]
        if rates:
            cells.append(f"{row['gflops']:.0f}, {100 * row['of_peak']:.0f} %" if row.get("gflops") else "")
        if memory:
            cells.append(figure(ours["first_ms"] / ours["ms"]["median"]) if "first_ms" in ours else "")
            cells.append(f"{ours['peak_mib']:.0f}" if "peak_mib" in ours else "")
            if "A" in peers:
                a = row["sides"].get("A", {})
                cells.append(f"{a['peak_mib']:.0f} ({ours['peak_mib'] / a['peak_mib']:.2f})" if "peak_mib" in a else "")
        if losses:
            cells.append(row.get("losses", ""))
        cells.append(f"{100 * row['others']:.0f} %")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page(result):
    """The table with what it needs to be read."""
    m, lines = result["machine"], []
    lines.append(f"# Benchmarks, {result['date']}, {result['commit']}\n")
    lines.append(f"{m['processor']}, {m['kernels']} kernels, {m['threads']} threads of {m['processors']} processors; peak "
                 f"{m['fma_gflops']:.0f} GFLOP/s, reading {m['read_gb_s']:.1f} GB/s, measured at the start"
                 f" (at the end: {m['fma_gflops_end']:.0f} and {m['read_gb_s_end']:.1f}). "
                 f"Load before: {m['load']:.2f}.\n")
    lines.append(f"Medians (and quartiles) of {result['rounds']} rounds in which the programs took turns, in ms unless the row "
                 "says otherwise; ratios are of the same round. The last column is the share of all processors that other "
                 "programs and systems used meanwhile.\n")
    lines += [f"- {PEER_NAMES[key]}: {text}" for key, text in result["peers"].items()]
    lines += ["", table(result)]
    lines += [f"\n{row['title']}: {note}." for row in result["rows"] for note in row.get("notes", [])]
    return "\n".join(lines) + "\n"


# ---- Two results ----


def apart(old, new):
    """Whether the quartiles of two spreads do not overlap."""
    return new["quartiles"][0] > old["quartiles"][1] or new["quartiles"][1] < old["quartiles"][0]


def comparison(old, new):
    """Two results, row by row: our times, and the ratios of the peers."""
    lines = []
    for key in ("processor", "kernels", "threads"):
        if old["machine"][key] != new["machine"][key]:
            lines.append(f"The results differ in {key} ({old['machine'][key]}, {new['machine'][key]}): compare ratios, not times.\n")
    before = {row["name"]: row for row in old["rows"]}
    shared = [row for row in new["rows"] if row["name"] in before]
    peers = [k for k in PEER_NAMES if any(of_column(r, k) and of_column(before[r["name"]], k) for r in shared)]
    head = ["row", "ours, before", "ours, now", "change"] + [f"{key} / ours, before, now" for key in peers] + ["outside the spread"]
    lines += [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in shared:
        was, scale, outside = before[row["name"]], 1 / row["per"], []
        a, b = was["sides"]["ours"]["ms"], row["sides"]["ours"]["ms"]
        if apart(a, b):
            outside.append("slower" if b["median"] > a["median"] else "faster")
        cells = [row["title"], with_spread(a, scale), with_spread(b, scale), f"{100 * (b['median'] / a['median'] - 1):+.0f} %"]
        for key in peers:
            left, right = of_column(was, key), of_column(row, key)
            if not (left and right):
                cells.append("")
                continue
            cells.append(f"{figure(left['ratio']['median'])}, {figure(right['ratio']['median'])}")
            if apart(left["ratio"], right["ratio"]):
                outside.append(f"{key}'s ratio {'higher' if right['ratio']['median'] > left['ratio']['median'] else 'lower'}")
        lines.append(f"| {' | '.join(cells + [', '.join(outside)])} |")
    for title, rows, others in (("Only in the first", old["rows"], new["rows"]), ("Only in the second", new["rows"], old["rows"])):
        names = {row["name"] for row in others}
        alone = [row["title"] for row in rows if row["name"] not in names]
        if alone:
            lines.append(f"\n{title}: {'; '.join(alone)}.")
    return "\n".join(lines)

"""What the peers' programs of bench/run.sh share: they take turns with ours, and train GPTs on the same batches."""
import json
import resource
import sys
import time


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def answer(line):
    print(json.dumps(line), flush=True)


def serve(library, step, before):
    """Answers every number of steps on standard input with their times, losses, and the most memory held so far."""
    answer({"library": library, "mib_before": before})
    for line in sys.stdin:
        times, losses = [], []
        for _ in range(int(line)):
            start = time.perf_counter()
            losses.append(step())
            times.append(1e3 * (time.perf_counter() - start))
        answer({"ms": times, "losses": losses, "peak_mib": peak_mib()})


def gpt_batches(row, count=4):
    """Lists of ids [batch][tokens + 1], the same as in bench/steps.cpp."""
    state, batches = 1, []
    for _ in range(count):
        batch = []
        for _ in range(row["batch"]):
            ids = []
            for _ in range(row["tokens"] + 1):
                state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                ids.append((state >> 33) % row["vocab_size"])
            batch.append(ids)
        batches.append(batch)
    return batches

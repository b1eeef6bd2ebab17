"""Writes text.json: the order in which PyTorch's DataLoader hands out windows, for tests/tasks/text.cpp. Needs torch."""
import json
import pathlib

import torch
from torch.utils.data import DataLoader


class Windows(torch.utils.data.Dataset):
    """Windows of a sequence, by number."""

    def __init__(self, tokens, length, stride):
        self.starts = range(0, tokens - length, stride)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        return self.starts[i]


def run(seed, tokens, length, stride, batch_size, shuffle, drop_last, iterations):
    loader = DataLoader(Windows(tokens, length, stride), batch_size=batch_size, shuffle=shuffle, drop_last=drop_last)
    torch.manual_seed(seed)
    batches = [[batch.tolist() for batch in loader] for _ in range(iterations)]
    return {"seed": seed, "tokens": tokens, "length": length, "stride": stride, "batch_size": batch_size, "shuffle": shuffle,
            "drop_last": drop_last, "size": len(loader), "iterations": batches, "then": int(torch.randint(0, 2**20, ()))}


cases = [
    run(123, 5145, 256, 256, 2, True, True, 3),
    run(123, 515, 256, 256, 2, False, False, 2),
    run(0, 100, 8, 8, 4, True, False, 2),
    run(7, 100, 8, 3, 4, True, True, 2),
    run(7, 100, 8, 1, 5, True, False, 1),
    run(2**40 + 5, 10, 9, 4, 1, True, False, 3),
    run(5, 33, 8, 8, 4, False, True, 1),
    run(5, 34, 8, 8, 9, True, True, 2),
    run(5, 9, 8, 1, 1, True, False, 1),
]
path = pathlib.Path(__file__).with_name("text.json")
path.write_text("[" + ",\n".join(json.dumps(c) for c in cases) + "]\n")
print(torch.__version__, len(cases), "cases")

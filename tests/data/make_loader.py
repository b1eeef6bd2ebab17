"""Writes loader.json: what PyTorch's DataLoader draws with its samplers, and random_split, for
tests/tasks/data/data_loader.cpp. Needs torch."""
import json
import pathlib

import torch
from torch.utils.data import DataLoader, RandomSampler, random_split


def epochs(seed, size, batch_size, count, replacement):
    dataset = range(size)
    sampler = RandomSampler(dataset, replacement=replacement, num_samples=count)
    loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler)
    torch.manual_seed(seed)
    batches = [[batch.tolist() for batch in loader] for _ in range(2)]
    return {"seed": seed, "size": size, "batch_size": batch_size, "count": count, "replacement": replacement,
            "epochs": batches, "then": int(torch.randint(0, 2**20, ()))}


def split(seed, sizes):
    parts = random_split(range(sum(sizes)), sizes, generator=torch.Generator().manual_seed(seed))
    return {"seed": seed, "sizes": sizes, "parts": [list(part.indices) for part in parts]}


found = {
    "samplers": [epochs(3, 10, 4, 7, False), epochs(3, 10, 4, 25, False), epochs(8, 10, 4, 20, False),
                 epochs(3, 10, 4, 9, True), epochs(2**33 + 1, 1000, 16, 70, True), epochs(4, 5, 3, 64, True)],
    "splits": [split(1, [7, 3]), split(2**35, [0, 20, 1, 4])],
}
pathlib.Path(__file__).with_name("loader.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")

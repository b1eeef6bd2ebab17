"""Writes twin.safetensors and twin_plain.safetensors for tests/nn/twin.cpp, and twin_net.safetensors for docs/from_pytorch.md, with
nn/module/twin/twin.py. Needs torch; made with 1.13.1.
"""
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "nn/module/twin"))
import twin  # noqa: E402


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(6, 8)
        self.attn = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
        self.norm = nn.LayerNorm(8, eps=1e-6)
        self.channels = nn.BatchNorm1d(8)
        self.square = nn.Linear(8, 8)
        self.head = nn.Linear(8, 3, bias=False)

    def forward(self, x):
        h = self.up(x)
        h = self.norm(h + self.attn(h, h, h, need_weights=False)[0])
        return self.head(F.gelu(self.channels(self.square(h.mean(1)))))


class Net(nn.Module):  # of docs/from_pytorch.md
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8 * 7 * 7, 10)

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.norm(self.conv(image))), 2)
        return self.head(x.flatten(1))


folder = pathlib.Path(__file__).parent
torch.manual_seed(0)
model = Reader()
twin.write(folder / "twin.safetensors", model, [torch.randn(5, 4, 6), torch.tensor([0, 2, 1, 1, 0])],
           outputs=lambda model, x, y: model(x),
           loss=lambda model, x, y: F.cross_entropy(model(x), y),
           optimizer=lambda model: torch.optim.AdamW(model.parameters(), lr=1e-2))
torch.manual_seed(0)
twin.write(folder / "twin_plain.safetensors", nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), [torch.randn(5, 3)], steps=3)
torch.manual_seed(0)
twin.write(folder / "twin_net.safetensors", Net(), [torch.rand(4, 1, 14, 14), torch.tensor([3, 1, 4, 9])],
           outputs=lambda model, x, y: model(x),
           loss=lambda model, x, y: F.cross_entropy(model(x), y, label_smoothing=0.1),
           optimizer=lambda model: torch.optim.AdamW(model.parameters(), lr=1e-3))

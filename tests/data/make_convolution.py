"""Writes convolution.json: PyTorch's layers of convolution, for tests/nn/layers/torch_layers.cpp. Needs torch 1.13.1.

For each layer: its first parameters after manual_seed(123), and its result for x with element i = ((37 i) mod 257 - 128) / 256.
"""
import json
import pathlib

import torch
from torch import nn

LAYERS = {
    "conv1d": (nn.Conv1d, (4, 6, 3), {"stride": 2, "padding": 1}, (2, 4, 9)),
    "conv1d_groups": (nn.Conv1d, (4, 6, 2), {"groups": 2, "bias": False}, (2, 4, 5)),
    "conv2d": (nn.Conv2d, (3, 4, 3), {"padding": 1}, (2, 3, 4, 5)),
    "conv2d_depthwise": (nn.Conv2d, (4, 4, (3, 2)), {"stride": (1, 2), "groups": 4}, (1, 4, 5, 6)),
    "conv1d_same": (nn.Conv1d, (3, 4, 4), {"padding": "same", "dilation": 3}, (2, 3, 5)),
    "conv2d_same": (nn.Conv2d, (3, 4, (2, 5)), {"padding": "same"}, (2, 3, 4, 5)),
    "conv1d_reflect": (nn.Conv1d, (3, 4, 4), {"padding": 2, "stride": 2, "padding_mode": "reflect"}, (3, 7)),
    "conv2d_circular": (nn.Conv2d, (2, 4, (2, 3)), {"padding": (1, 2), "padding_mode": "circular", "groups": 2}, (2, 2, 3, 4)),
    "conv2d_replicate_same": (nn.Conv2d, (2, 3, (4, 2)), {"padding": "same", "padding_mode": "replicate"}, (2, 2, 3, 4)),
    "conv_transpose1d": (nn.ConvTranspose1d, (3, 5, 3), {"stride": 2, "padding": 1, "output_padding": 1}, (2, 3, 4)),
    "conv_transpose2d": (nn.ConvTranspose2d, (4, 6, (2, 3)), {"stride": (2, 1), "groups": 2}, (1, 4, 2, 3)),
}


def layer(make, sizes, options, shape):
    torch.manual_seed(123)
    module = make(*sizes, **options)
    n = torch.Size(shape).numel()
    x = torch.tensor([(37 * i % 257 - 128) / 256 for i in range(n)]).reshape(shape)
    return {"parameters": {name: {"shape": list(p.shape), "values": p.flatten().tolist()} for name, p in module.named_parameters()},
            "y": module(x).flatten().tolist()}


result = {name: layer(*settings) for name, settings in LAYERS.items()}
text = json.dumps(result, separators=(",", ":")).replace('"conv', '\n"conv')
(pathlib.Path(__file__).parent / "convolution.json").write_text(text + "\n")

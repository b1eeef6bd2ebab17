"""PyTorch's side of bench/convolution.cpp, for ops.py."""
import torch
from torch.nn import functional as F


def cases():
    shapes = {"3x3": ((32, 64, 28, 28), (64, 64, 3, 3), {"padding": 1}),
              "1x1": ((32, 64, 28, 28), (64, 64, 1, 1), {}),
              "depthwise": ((32, 64, 28, 28), (64, 1, 3, 3), {"padding": 1, "groups": 64}),
              "stride_2": ((32, 64, 28, 28), (64, 64, 3, 3), {"stride": 2, "padding": 1}),
              "signal": ((32, 64, 500), (64, 64, 5), {"padding": 2}),
              "digits_1": ((64, 1, 8, 8), (16, 1, 3, 3), {"padding": 1}),
              "digits_2": ((64, 16, 8, 8), (32, 16, 3, 3), {"padding": 1}),
              "large_7x7": ((32, 256, 7, 7), (256, 256, 3, 3), {"padding": 1}),
              "patches": ((8, 3, 224, 224), (768, 3, 16, 16), {"stride": 16}),
              "patches_2x2": ((8, 96, 56, 56), (192, 96, 2, 2), {"stride": 2}),
              "stem": ((8, 3, 112, 112), (64, 3, 7, 7), {"stride": 2, "padding": 3}),
              "volume": ((2, 32, 16, 32, 32), (32, 32, 3, 3, 3), {"padding": 1}),
              "volume_depthwise": ((2, 32, 16, 32, 32), (32, 1, 3, 3, 3), {"padding": 1, "groups": 32}),
              "volume_patches": ((256, 3, 2, 14, 14), (256, 3, 2, 14, 14), {})}
    result = {}
    for name, (x_shape, weight_shape, options) in shapes.items():
        convolve = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(x_shape)]
        operands = [torch.randn(shape) for shape in (x_shape, weight_shape, weight_shape[:1])]
        leaves = [v.clone().requires_grad_() for v in operands]
        dy = torch.randn_like(convolve(*operands, **options))
        result[f"conv/{name}"] = lambda f=convolve, v=operands, o=options: f(*v, **o)
        result[f"conv_with_gradients/{name}"] = (
            lambda f=convolve, v=leaves, o=options, dy=dy: torch.autograd.grad(f(*v, **o), v, grad_outputs=dy))
    return result

"""PyTorch's side of bench/pooling.cpp, for ops.py."""
import torch
from torch.nn import functional as F


def with_gradients(function, *inputs):
    leaves = [x.clone().requires_grad_() for x in inputs]
    seed = function(*leaves).detach().clone()
    return lambda: torch.autograd.grad(function(*leaves), leaves, grad_outputs=seed)


def of_images(*shape):
    x, one, zero = torch.randn(shape), torch.ones(shape[1]), torch.zeros(shape[1])
    functions = {
        "batch_norm_with_gradients": with_gradients(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), x, one, zero),
        "group_norm_with_gradients": with_gradients(lambda x, w, b: F.group_norm(x, 8, w, b), x, one, zero),
        "batch_norm_evaluation": lambda: F.batch_norm(x, one, one, one, one),
    }
    if shape[-1] > 1:
        grid = torch.rand(shape[0], shape[2], shape[3], 2) * 2 - 1
        functions.update({
            "max_pool2d_2": with_gradients(lambda x: F.max_pool2d(x, 2), x),
            "max_pool2d_3": with_gradients(lambda x: F.max_pool2d(x, 3, 2, 1), x),
            "max_pool2d_evaluation": lambda: F.max_pool2d(x, 2),
            "avg_pool2d_2": with_gradients(lambda x: F.avg_pool2d(x, 2), x),
            "avg_pool2d_3": with_gradients(lambda x: F.avg_pool2d(x, 3, 1, 1), x),
            "adaptive_avg_pool2d_1": with_gradients(lambda x: F.adaptive_avg_pool2d(x, 1), x),
            "interpolate_nearest_2": with_gradients(lambda x: F.interpolate(x, scale_factor=2), x),
            "interpolate_bilinear_2": with_gradients(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), x),
            "interpolate_bicubic_2": with_gradients(lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), x),
            "interpolate_bicubic_antialiased": with_gradients(lambda x: F.interpolate(x, scale_factor=0.4, mode="bicubic", antialias=True), x),
            "unfold2d_3": with_gradients(lambda x: F.unfold(x, 3, padding=1), x),
            "pixel_shuffle_2": with_gradients(lambda x: F.pixel_shuffle(x, 2), x),
            "grid_sample_bilinear": with_gradients(lambda x, grid: F.grid_sample(x, grid, align_corners=False), x, grid),
            "grid_sample_bicubic": with_gradients(lambda x, grid: F.grid_sample(x, grid, mode="bicubic", align_corners=False), x, grid),
        })
    return {"/".join([name, *map(str, shape)]): function for name, function in functions.items()}


def cases():
    return {**of_images(32, 64, 28, 28), **of_images(64, 256, 8, 8), **of_images(128, 512, 1, 1)}

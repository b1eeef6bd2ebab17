"""PyTorch's side of bench/recurrent.cpp, for ops.py."""
import torch


def layers(batch, length, width):
    """Layers in one direction, with the gradients of input and parameters."""
    x, dy = torch.randn(length, batch, width, requires_grad=True), torch.randn(length, batch, width)

    def with_gradients(layer):
        leaves = [x, *layer.parameters()]
        return lambda: torch.autograd.grad(layer(x)[0], leaves, grad_outputs=dy)

    return {f"{kind.__name__.lower()}_with_gradients/{batch}/{length}/{width}": with_gradients(kind(width, width))
            for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN)}


def without_gradients(layer, x):
    def run():
        with torch.no_grad():
            layer(x)

    return run


def cases():
    found = {}
    for shape in ((32, 100, 256), (16, 50, 64)):
        found.update(layers(*shape))
    for batch in (32, 1):
        found[f"lstm/{batch}/100/256"] = without_gradients(torch.nn.LSTM(256, 256), torch.randn(100, batch, 256))
    return found

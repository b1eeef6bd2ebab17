"""PyTorch's side of bench/batches.cpp, for ops.py: torch.func."""
import torch
from torch import nn
from torch.func import functional_call, grad, jacrev, vmap


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(128), nn.Linear(128, 256), nn.Linear(256, 128)

    def forward(self, x):
        return (x + self.down(nn.functional.gelu(self.up(self.norm(x))))).mean(-2)


def gradients(name, model, *shape):
    """Of the whole batch, and per example."""
    x = torch.randn(shape)
    parameters = {key: p.detach() for key, p in model.named_parameters()}

    def whole():
        return torch.autograd.grad(model(x).square().mean(-1).sum(), list(model.parameters()))

    def loss(parameters, row):
        return functional_call(model, parameters, (row,)).square().mean()

    each = vmap(grad(loss), in_dims=(None, 0))
    return {f"{name}_gradients/{shape[0]}": whole, f"{name}_per_example/{shape[0]}": lambda: each(parameters, x)}


def cases():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 6))
    x = torch.randn(64, 3)
    return {"batch_jacobian/64": lambda: vmap(jacrev(net))(x), **gradients("net", net, 64, 3), **gradients("block", Block(), 64, 64, 128)}

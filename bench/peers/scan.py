"""PyTorch's side of bench/scan.cpp, for ops.py."""
import torch

from pooling import with_gradients


def cases():
    result = {}
    for shape in ((4096, 768), (64, 65536)):
        x = torch.rand(shape, generator=torch.Generator().manual_seed(0)) + 0.5
        index = torch.randint(shape[1], shape, generator=torch.Generator().manual_seed(1))
        functions = {
            "norm_with_gradients": with_gradients(lambda x: torch.linalg.vector_norm(x, 2, -1), x),
            "variance_with_gradients": with_gradients(lambda x: torch.var(x, -1), x),
            "logsumexp_with_gradients": with_gradients(lambda x: torch.logsumexp(x, -1), x),
            "max_with_gradients": with_gradients(lambda x: torch.max(x, -1).values, x),
            "cumsum_with_gradients": with_gradients(lambda x: torch.cumsum(x, -1), x),
            "cumprod_with_gradients": with_gradients(lambda x: torch.cumprod(x, -1), x),
            "logcumsumexp_with_gradients": with_gradients(lambda x: torch.logcumsumexp(x, -1), x),
            "median": lambda x=x: torch.median(x, -1),
            "sort": lambda x=x: torch.sort(x, -1),
            "topk": lambda x=x: torch.topk(x, 16, -1),
            "gather_with_gradients": with_gradients(lambda x, i=index: torch.gather(x, -1, i), x),
        }
        result.update({"/".join([name, *map(str, shape)]): function for name, function in functions.items()})
    return result

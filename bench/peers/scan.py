"""PyTorch's side of bench/scan.cpp, for ops.py."""
import torch

from pooling import with_gradients


def segments(edges, channels):
    """The functions of segments by index_add and index_reduce."""
    count = edges // 20
    x = torch.rand(edges, channels, generator=torch.Generator().manual_seed(0)) + 0.5
    index = torch.randint(count, (edges,), generator=torch.Generator().manual_seed(1))

    def reduced(kind):
        return lambda x: x.new_zeros(count, channels).index_reduce(0, index, x, kind, include_self=False)

    def softmax(x):
        e = (x - reduced("amax")(x.detach())[index]).exp()
        return e / e.new_zeros(count, channels).index_add(0, index, e)[index]

    def index_add(x):
        return x.new_zeros(count, channels).index_add(0, index, x)

    functions = {"index_add": index_add, "segment_sum": index_add, "segment_mean": reduced("mean"), "segment_max": reduced("amax"), "segment_softmax": softmax}
    return {f"{name}_with_gradients/{edges}/{channels}": with_gradients(function, x) for name, function in functions.items()}


def linear_scan(a, b):
    """A loop of operations per step, along the first axis."""
    steps, state = [], None
    for factor, term in zip(a, b):
        state = term if state is None else factor * state + term
        steps.append(state)
    return torch.stack(steps)


def cases():
    result = {**segments(200_000, 64), **segments(200_000, 4)}
    b = torch.rand(1024, 4, 1024, generator=torch.Generator().manual_seed(0)) + 0.5
    result["linear_scan_of_steps_with_gradients/1024/4/1024"] = with_gradients(linear_scan, b * 0.6, b)
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

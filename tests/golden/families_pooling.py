"""Pooling, interpolation and normalisation per channel."""
import torch
import torch.nn.functional as F

from golden_file import *


def channels_last(x):
    base = x.permute(0, 2, 3, 1).contiguous()
    return Laid(x, base.flatten(), list(base.permute(0, 3, 1, 2).stride()))


def with_specials(x):
    """NaN, infinities and ties."""
    flat = x.flatten()
    flat[::7] = 0.5
    flat[3], flat[11], flat[17], flat[18] = NAN, INF, -INF, NAN
    return flat.reshape(x.shape)


def signals(dtype, *lengths):
    """[N, C, L] of every length; the first one also in every layout."""
    for length in lengths:
        yield "", rand(1, 2, length, dtype=dtype)
    yield "one signal", rand(2, lengths[0], dtype=dtype)
    yield "no signal", rand(0, 2, lengths[0], dtype=dtype)
    for x in layouts(rand(2, 3, lengths[0], dtype=dtype)):
        yield "layouts", x


def images(dtype, *sizes):
    """[N, C, H, W] of every size; the first one also in every layout."""
    for h, w in sizes:
        yield "", rand(1, 2, h, w, dtype=dtype)
    h, w = sizes[0]
    yield "one image", rand(2, h, w, dtype=dtype)
    yield "no image", rand(0, 2, h, w, dtype=dtype)
    yield "channels last", channels_last(rand(2, 3, h, w, dtype=dtype))
    for x in layouts(rand(1, 2, h, w, dtype=dtype)):
        yield "layouts", x


def max_pool():
    f = Family("max_pool")
    settings1 = ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 3, "stride": 1, "dilation": 2},
                 {"kernel_size": 2, "stride": 3, "ceil_mode": True})
    settings2 = ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": [3, 2], "stride": [1, 2], "padding": [1, 0]},
                 {"kernel_size": 2, "stride": 1, "dilation": [2, 3]}, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
                 {"kernel_size": [2, 3], "stride": 3})
    for dtype in FLOATS:
        for label, x in signals(dtype, 7, 40):
            for s in settings1:
                f.case("max_pool1d", lambda x: F.max_pool1d(x, **s), [x], grad=True, label=label, **s)
                f.case("max_pool1d_with_indices", lambda x: F.max_pool1d(x, return_indices=True, **s), [x], grad=True, label=label, **s)
        for label, x in images(dtype, (5, 7), (6, 21)):
            for s in settings2:
                f.case("max_pool2d_with_indices", lambda x: F.max_pool2d(x, return_indices=True, **s), [x], grad=True, label=label, **s)
            f.case("max_pool2d", lambda x: F.max_pool2d(x, 2), [x], grad=True, label=label, kernel_size=2)
        for h, w in ((5, 7), (6, 21)):
            for s in settings2:
                x = with_specials(rand(1, 2, h, w, dtype=dtype))
                f.case("max_pool2d_with_indices", lambda x: F.max_pool2d(x, return_indices=True, **s), [x], grad=True, label="NaN, infinities, ties", **s)
            x = torch.full((1, 2, h, w), -INF, dtype=dtype)
            f.case("max_pool2d_with_indices", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), [x], label="-inf", kernel_size=3, stride=2, padding=1)
            x = torch.randint(0, 3, (1, 2, h, w)).to(dtype)
            f.case("max_pool2d_with_indices", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), [x], grad=True, label="ties", kernel_size=3, stride=2, padding=1)
            f.case("adaptive_max_pool2d_with_indices", lambda x: F.adaptive_max_pool2d(x, 3, return_indices=True), [with_specials(x)], grad=True,
                   label="NaN, infinities, ties", output_size=3)
        for label, x in signals(dtype, 7):
            for n in (1, 3, 7, 10):
                f.case("adaptive_max_pool1d", lambda x: F.adaptive_max_pool1d(x, n), [x], grad=True, label=label, output_size=n)
                f.case("adaptive_max_pool1d_with_indices", lambda x: F.adaptive_max_pool1d(x, n, return_indices=True), [x], grad=True, label=label, output_size=n)
        for label, x in images(dtype, (5, 7), (6, 4)):
            for n in (1, [2, 3], [8, 4]):
                f.case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, n), [x], grad=True, label=label, output_size=n)
                f.case("adaptive_max_pool2d_with_indices", lambda x: F.adaptive_max_pool2d(x, n, return_indices=True), [x], grad=True, label=label, output_size=n)
    return f


def avg_pool():
    f = Family("avg_pool")
    settings1 = ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 3, "stride": 1, "padding": 1, "count_include_pad": False},
                 {"kernel_size": 2, "stride": 3, "ceil_mode": True}, {"kernel_size": 1, "stride": 3})
    settings2 = ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": [3, 2], "stride": [1, 2], "padding": [1, 0]},
                 {"kernel_size": 3, "stride": 1, "padding": 1, "count_include_pad": False}, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
                 {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False}, {"kernel_size": 2, "divisor_override": 3})
    for dtype in FLOATS:
        for label, x in signals(dtype, 7, 40):
            for s in settings1:
                f.case("avg_pool1d", lambda x: F.avg_pool1d(x, **s), [x], grad=True, label=label, **s)
        for label, x in images(dtype, (5, 7), (6, 21)):
            for s in settings2:
                f.case("avg_pool2d", lambda x: F.avg_pool2d(x, **s), [x], grad=True, label=label, **s)
        f.case("avg_pool2d", lambda x: F.avg_pool2d(x, 2, 1), [with_specials(rand(2, 3, 5, 7, dtype=dtype))], label="NaN and infinities", kernel_size=2, stride=1)
        for label, x in signals(dtype, 7):
            for n in (1, 3, 7, 10):
                f.case("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, n), [x], grad=True, label=label, output_size=n)
        for label, x in images(dtype, (5, 7), (6, 4), (17, 33)):
            for n in (1, [2, 3], [8, 4]):
                f.case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, n), [x], grad=True, label=label, output_size=n)
    return f


def interpolate():
    f = Family("interpolate")

    def case(x, label="", grad=True, **args):
        f.case("interpolate", lambda x: F.interpolate(x, **args), [x], grad=grad, label=label, **{k: v for k, v in args.items() if v is not None})

    for dtype in FLOATS:
        for size in (1, 5, 7, 10, 14, 15, 31):
            x = rand(1, 2, 7, dtype=dtype)
            case(x, size=size, mode="nearest")
            for align in (False, True):
                case(x, size=size, mode="linear", align_corners=align)
        for factor in (0.3, 0.5, 1.0, 1.3, 2.0, 2.7, 3.0):
            x = rand(1, 2, 7, dtype=dtype)
            case(x, scale_factor=factor, mode="nearest")
            for align in (False, True):
                case(x, scale_factor=factor, mode="linear", align_corners=align)
                case(rand(1, 2, 7, 6, dtype=dtype), scale_factor=[factor, 1.7], mode="bilinear", align_corners=align)
        for label, x in images(dtype, (5, 7), (4, 17)):
            values = x.values if isinstance(x, Laid) else x
            if values.dim() == 3:
                continue
            for size in ([1, 1], [10, 14], [3, 11], [5, 7], [8, 34], [9, 4]):
                if values.numel():
                    case(x, label=label, size=size, mode="nearest")
                    for align in (False, True):
                        case(x, label=label, size=size, mode="bilinear", align_corners=align)
        x = rand(1, 2, 6, 8, dtype=dtype)
        x[0, 0, 2, 3], x[0, 1, 3, 4] = NAN, INF
        case(x, label="NaN and infinity", grad=False, size=[9, 11], mode="nearest")
        case(x, label="NaN and infinity", grad=False, size=[9, 11], mode="bilinear", align_corners=False)
    return f


def channel_norm():
    f = Family("channel_norm")

    def training(eps):
        def run(x, w=None, b=None):
            axes = [a for a in range(x.dim()) if a != 1]
            return F.batch_norm(x, None, None, w, b, True, 0.1, eps), x.detach().mean(axes), x.detach().var(axes)
        return run

    def exact(reference):  # in float64: PyTorch's own result for a constant channel has rounding errors
        return lambda *x: tuple(y.to(x[0].dtype) for y in reference(*(v.double() for v in x)))

    def all_of(x, label="", groups=(1, 2), grad=True, of=lambda reference: reference):
        values = x.values if isinstance(x, Laid) else x
        c = values.shape[1]
        r = lambda low=-2.0: rand(c, dtype=values.dtype, low=low)
        for parameters in ([], [r(0.5)], [strided(r(0.5)), reversed_(r())]):
            eps = 1e-2 if parameters else 1e-5
            f.case("batch_norm_training", of(training(eps)), [x] + parameters, grad=grad, label=label, eps=eps)
            statistics = [r(), r(0.1)]
            f.case("batch_norm", lambda x, *s: F.batch_norm(x, s[0].detach(), s[1].detach(), *s[2:]), [x] + statistics + parameters, grad=grad, label=label)
            for g in groups:
                if c % g == 0:
                    f.case("group_norm", of(lambda x, *p: (F.group_norm(x, g, *p),)), [x] + parameters, grad=grad, label=label, groups=g)
            if values.dim() > 2:
                f.case("instance_norm", of(lambda x, w=None, b=None: (F.instance_norm(x, None, None, w, b),)), [x] + parameters, grad=grad, label=label)

    for dtype in FLOATS:
        for shape in ((4, 6), (70, 3), (3, 4, 5), (2, 4, 3, 5), (5, 2, 37), (1, 2, 6), (2, 2, 2, 3, 2)):
            all_of(rand(*shape, dtype=dtype))
        for x in layouts(rand(3, 4, 5, dtype=dtype)):
            all_of(x, "layouts", (2,))
        for x in layouts(rand(5, 4, dtype=dtype)):
            all_of(x, "layouts", (1,))
        all_of(channels_last(rand(2, 4, 3, 5, dtype=dtype)), "channels last", (2,))
        f.case("batch_norm_training", training(1e-5), [rand(7, 1, 300, dtype=dtype) + 100], label="far from zero, several blocks", eps=1e-5)
        f.case("batch_norm_training", training(1e-5), [torch.cat([torch.zeros(1, 1, 1200, dtype=dtype), rand(1, 1, 1200, dtype=dtype) + 1000])],
               label="a step", eps=1e-5)
        x = rand(3, 4, 5, dtype=dtype)
        x[:, 0] = 3.0
        x[1, 1, 2], x[0, 2, 1] = NAN, INF
        all_of(x, "constant channel, NaN, infinity", (2, 4), grad=False, of=exact)
    return f


FAMILIES = (max_pool, avg_pool, interpolate, channel_norm)

"""Pooling and interpolation."""
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
    """[N, C, L] of every length; of the first one in every layout, too."""
    for length in lengths:
        yield "", rand(1, 2, length, dtype=dtype)
    yield "one signal", rand(2, lengths[0], dtype=dtype)
    yield "no signal", rand(0, 2, lengths[0], dtype=dtype)
    for x in layouts(rand(2, 3, lengths[0], dtype=dtype)):
        yield "layouts", x


def images(dtype, *sizes):
    """[N, C, H, W] of every size; of the first one in every layout, too."""
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


FAMILIES = (max_pool, avg_pool, interpolate)

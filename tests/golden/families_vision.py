"""Resampling of images and volumes, patches, grids, and operations of volumes. Written with PyTorch 2.15."""
import torch
import torch.nn.functional as F

from families_pooling import channels_last, images, with_specials
from golden_file import *


def resampling():
    f = Family("resampling")

    def case(x, label="", grad=True, **args):
        f.case("interpolate", lambda x: F.interpolate(x, **args), [x], grad=grad, label=label, **args)

    for dtype in FLOATS:
        for size in (1, 3, 5, 7, 10, 14, 15, 31):
            for mode in ("nearest-exact", "area"):
                case(rand(1, 2, 7, dtype=dtype), size=size, mode=mode)
        for factor in (0.3, 0.5, 1.0, 1.3, 2.0, 2.7, 3.0):
            for mode in ("nearest-exact", "area"):
                case(rand(1, 2, 7, dtype=dtype), scale_factor=factor, mode=mode)
                case(rand(1, 2, 7, 6, dtype=dtype), scale_factor=[factor, 1.7], mode=mode)
            for recompute in (False, True):
                again = {"recompute_scale_factor": True} if recompute else {}
                for align in (False, True):
                    case(rand(1, 2, 7, 6, dtype=dtype), scale_factor=[factor, 1.7], mode="bicubic", align_corners=align, **again)
                    case(rand(1, 2, 7, 6, dtype=dtype), scale_factor=[factor, 1.7], mode="bicubic", align_corners=align, antialias=True, **again)
                    case(rand(1, 2, 7, 6, dtype=dtype), scale_factor=[factor, 0.4], mode="bilinear", align_corners=align, antialias=True, **again)
                    case(rand(1, 1, 4, 3, 5, dtype=dtype), scale_factor=[factor, 1.7, 0.6], mode="trilinear", align_corners=align, **again)
                case(rand(1, 1, 5, dtype=dtype), scale_factor=factor, mode="nearest", **again)
        for label, x in images(dtype, (5, 7), (4, 9)):
            values = x.values if isinstance(x, Laid) else x
            if values.dim() == 3 or not values.numel():
                continue
            for size in ([1, 1], [3, 11], [5, 7], [9, 4]):
                for mode in ("nearest-exact", "area"):
                    case(x, label=label, size=size, mode=mode)
                for align in (False, True):
                    case(x, label=label, size=size, mode="bicubic", align_corners=align)
                    for mode in ("bilinear", "bicubic"):
                        case(x, label=label, size=size, mode=mode, align_corners=align, antialias=True)
        for size in ([1, 1, 1], [2, 6, 9], [7, 2, 3]):
            for x in layouts(rand(2, 1, 4, 3, 5, dtype=dtype)):
                for mode in ("nearest", "nearest-exact", "area"):
                    case(x, size=size, mode=mode)
                for align in (False, True):
                    case(x, size=size, mode="trilinear", align_corners=align)
        for mode in ("bicubic", "bilinear"):
            case(rand(1, 1, 64, 50, dtype=dtype), label="much smaller", size=[5, 7], mode=mode, antialias=True)
        for mode, align in (("nearest-exact", None), ("area", None), ("bicubic", False)):
            x = rand(1, 2, 6, 8, dtype=dtype)
            x[0, 0, 2, 3], x[0, 1, 3, 4] = NAN, INF
            case(x, label="NaN and infinity", grad=False, size=[9, 11], mode=mode, **({} if align is None else {"align_corners": align}))
    return f


def patches():
    f = Family("patches")
    settings = ({"kernel_size": 2}, {"kernel_size": [3, 2], "stride": [2, 1], "padding": [1, 0]}, {"kernel_size": 2, "dilation": [2, 3], "padding": 1},
                {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 1, "stride": [2, 3]})
    for dtype in FLOATS:
        for label, x in images(dtype, (5, 7), (6, 21)):
            values = x.values if isinstance(x, Laid) else x
            for s in settings:
                f.case("unfold2d", lambda x: F.unfold(x, **s), [x], grad=True, label=label, **s)
                columns = F.unfold(values, **s)
                size = list(values.shape[-2:])
                for c in layouts(columns) if label == "layouts" else [columns]:
                    f.case("fold2d", lambda c: F.fold(c, size, **s), [c], grad=True, label=label, output_size=size, **s)
        for x in layouts(rand(2, 8, 3, 5, dtype=dtype)):
            f.case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), [x], grad=True, factor=2)
        for shape, r in (((9, 2, 1), 3), ((2, 3, 4, 1, 2), 2), ((0, 4, 1, 1), 2), ((3, 2, 2), 1)):
            f.case("pixel_shuffle", lambda x: F.pixel_shuffle(x, r), [rand(*shape, dtype=dtype)], grad=0 not in shape, factor=r)
        for x in layouts(rand(2, 3, 4, 6, dtype=dtype)):
            f.case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), [x], grad=True, factor=2)
        for shape, r in (((1, 6, 3), 3), ((2, 3, 1, 4, 2), 2), ((3, 2, 2), 1)):
            f.case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, r), [rand(*shape, dtype=dtype)], grad=0 not in shape, factor=r)
        shuffle = lambda x, groups: torch.channel_shuffle(x.detach(), groups)
        for shape, g in (((2, 6, 5), 3), ((2, 6, 2, 3), 2), ((1, 4, 2, 1, 3), 4), ((2, 3, 2), 1)):
            for x in layouts(rand(*shape, dtype=dtype)):
                f.case("channel_shuffle", lambda x: shuffle(x, g), [x], groups=g)
    return f


def grids():
    f = Family("grids")

    def case(x, grid, label="", grad=True, **args):
        f.case("grid_sample", lambda x, grid: F.grid_sample(x, grid, **args), [x, grid], grad=grad, label=label, **args)

    def positions(*shape, dtype):
        return (rand(*shape, dtype=F64, low=-1.4, high=1.4) + 0.00317).to(dtype)

    for dtype in FLOATS:
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                for mode in ("bilinear", "nearest", "bicubic"):
                    s = {"mode": mode, "padding_mode": padding, "align_corners": align}
                    for x in (transposed(rand(2, 2, 4, 6, dtype=dtype)), channels_last(rand(1, 2, 4, 5, dtype=dtype))):
                        case(x, positions(x.values.shape[0], 3, 4, 2, dtype=dtype), **s)
                    for grid in layouts(positions(2, 2, 5, 2, dtype=dtype)):
                        case(rand(2, 2, 4, 6, dtype=dtype), grid, label="layouts of the grid", **s)
                    case(rand(1, 2, 3, 4, dtype=dtype), positions(1, 10, 14, 2, dtype=dtype) * 3, label="far outside, several blocks", **s)
                    case(rand(1, 2, 1, 1, dtype=dtype), positions(1, 2, 3, 2, dtype=dtype), label="one element", **s)
                    if mode != "nearest":
                        x = rand(1, 2, 4, 6, dtype=dtype)
                        x[0, 0, 1, 3], x[0, 1, 2, 2] = NAN, INF
                        case(x, positions(1, 5, 5, 2, dtype=dtype), grad=False, label="NaN and infinity", **s)
                    grid = torch.tensor([[[[NAN, 0.0], [0.1, NAN], [1e9, 0.2]]]], dtype=dtype)
                    if padding != "reflection":
                        case(rand(1, 2, 4, 6, dtype=dtype), grid, grad=False, label="NaN and large positions", **s)
                    if mode == "bicubic":
                        continue
                    for x in list(layouts(rand(1, 2, 3, 4, 5, dtype=dtype)))[1::2]:
                        case(x, positions(1, 2, 3, 2, 3, dtype=dtype), label="volume", **s)
        for align in (False, True):
            for size in ([2, 3, 4, 5], [2, 1, 1, 3]):
                for theta in layouts(rand(2, 2, 3, dtype=dtype)):
                    f.case("affine_grid", lambda t: F.affine_grid(t, size, align), [theta], grad=True, size=size, align_corners=align)
            for size in ([2, 1, 3, 4, 5], [2, 1, 1, 2, 3]):
                for theta in layouts(rand(2, 3, 4, dtype=dtype)):
                    f.case("affine_grid", lambda t: F.affine_grid(t, size, align), [theta], grad=True, size=size, align_corners=align)
    return f


def volume_pools():
    f = Family("volume_pools")
    settings = ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": [2, 3, 1], "stride": [1, 2, 2], "padding": [1, 0, 0]},
                {"kernel_size": 2, "stride": 2, "ceil_mode": True})
    dilated = ({"kernel_size": 2, "stride": 1, "dilation": [1, 2, 3]}, {"kernel_size": [1, 2, 2], "stride": 2, "dilation": 2, "padding": [0, 1, 1]})
    averages = ({"kernel_size": 3, "stride": 1, "padding": 1, "count_include_pad": False}, {"kernel_size": 2, "divisor_override": 3})
    for dtype in FLOATS:
        inputs = [rand(1, 2, 4, 5, 7, dtype=dtype), rand(2, 4, 4, 6, dtype=dtype), rand(0, 2, 4, 4, 4, dtype=dtype), *layouts(rand(1, 2, 3, 4, 5, dtype=dtype))]
        for x in inputs:
            values = x.values if isinstance(x, Laid) else x
            for s in settings + dilated:
                f.case("max_pool3d_with_indices", lambda x: F.max_pool3d(x, return_indices=True, **s), [x], grad=True, **s)
            f.case("max_pool3d", lambda x: F.max_pool3d(x, 2), [x], grad=True, kernel_size=2)
            for s in settings + averages:
                f.case("avg_pool3d", lambda x: F.avg_pool3d(x, **s), [x], grad=True, **s)
            for n in (1, [2, 3, 1], [5, 2, 8]):
                f.case("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, n), [x], grad=True, output_size=n)
                f.case("adaptive_max_pool3d", lambda x: F.adaptive_max_pool3d(x, n), [x], grad=True, output_size=n)
                f.case("adaptive_max_pool3d_with_indices", lambda x: F.adaptive_max_pool3d(x, n, return_indices=True), [x], grad=True, output_size=n)
        x = with_specials(rand(1, 2, 4, 5, 7, dtype=dtype))
        for s in settings:
            f.case("max_pool3d_with_indices", lambda x: F.max_pool3d(x, return_indices=True, **s), [x], grad=True, label="NaN, infinities, ties", **s)
        x = torch.randint(0, 3, (1, 2, 4, 5, 7)).to(dtype)
        f.case("max_pool3d_with_indices", lambda x: F.max_pool3d(x, 3, 2, 1, return_indices=True), [x], grad=True, label="ties", kernel_size=3, stride=2, padding=1)
        f.case("adaptive_max_pool3d_with_indices", lambda x: F.adaptive_max_pool3d(x, 3, return_indices=True), [x], grad=True, label="ties", output_size=3)
    return f


def volume_convolution():
    f = Family("volume_convolution")
    rotated = lambda x: Laid(x, x.permute(2, 3, 4, 0, 1).contiguous().flatten(), list(x.permute(2, 3, 4, 0, 1).contiguous().permute(3, 4, 0, 1, 2).stride()))
    for dtype in FLOATS:
        r = lambda *shape: rand(*shape, dtype=dtype, low=-1.0, high=1.0)
        x, w, b = r(2, 4, 5, 4, 6), r(6, 4, 3, 2, 3), r(6)
        settings = ({}, {"padding": 1}, {"stride": 2, "padding": [1, 0, 1]}, {"stride": [1, 2, 3], "padding": [2, 1, 0], "dilation": [2, 1, 1]},
                    {"padding": "same", "dilation": [1, 2, 1]}, {"dilation": [2, 3, 1]})
        for s in settings:
            f.case("conv3d", lambda x, w, b: F.conv3d(x, w, b, **s), [x, w, b], grad=True, **s)
        f.case("conv3d", lambda x, w: F.conv3d(x, w), [rotated(x), rotated(w)], grad=True, label="layouts")
        f.case("conv3d", lambda x, w: F.conv3d(x, w, padding=1), [x[0], w], grad=True, label="one volume", padding=1)
        f.case("conv3d", lambda x, w, b: F.conv3d(x, w, b, groups=2, padding=1), [x, r(6, 2, 3, 2, 3), b], grad=True, groups=2, padding=1)
        f.case("conv3d", lambda x, w: F.conv3d(x, w, groups=4, padding=1), [x, r(8, 1, 3, 3, 3)], grad=True, label="depthwise", groups=4, padding=1)
        f.case("conv3d", lambda x, w, b: F.conv3d(x, w, b, stride=[5, 2, 3]), [x, r(6, 4, 5, 2, 3), b], grad=True, label="patches", stride=[5, 2, 3])
        f.case("conv3d", lambda x, w, b: F.conv3d(x, w, b), [x, r(6, 4, 1, 1, 1), b], grad=True, label="one element")
        for mode in ("circular", "replicate", "reflect"):
            f.case("conv3d", lambda x, w: F.conv3d(F.pad(x, (2, 2, 1, 1, 1, 1), mode=mode), w), [x, w], grad=True, padding=[1, 1, 2], padding_mode=mode)
        x, w, b = r(2, 4, 3, 4, 2), r(4, 6, 3, 2, 3), r(6)
        for s in ({}, {"padding": 1}, {"stride": 2, "padding": 1, "output_padding": 1}, {"stride": [3, 1, 2], "output_padding": [2, 0, 1]},
                  {"stride": [4, 2, 1], "dilation": [2, 1, 2]}):
            f.case("conv_transpose3d", lambda x, w, b: F.conv_transpose3d(x, w, b, **s), [x, w, b], grad=True, **s)
        f.case("conv_transpose3d", lambda x, w: F.conv_transpose3d(x, w), [rotated(x), rotated(w)], grad=True, label="layouts")
        f.case("conv_transpose3d", lambda x, w: F.conv_transpose3d(x, w, stride=2), [x[0], w], grad=True, label="one volume", stride=2)
        f.case("conv_transpose3d", lambda x, w, b: F.conv_transpose3d(x, w, b, groups=2, stride=2), [x, r(4, 3, 2, 2, 2), b], grad=True, groups=2, stride=2)
    return f


FAMILIES = (resampling, patches, grids, volume_pools, volume_convolution)

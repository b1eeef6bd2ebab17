#!/usr/bin/env python3
"""images.json: PNG and JPEG files in hexadecimal digits, with the pixels that Pillow reads from them.

    python3 tests/data/make_images.py       # needs PyPI's pillow and numpy; takes a second

Pillow brings its own libpng and libjpeg-turbo. Files that it cannot write (with interlacing, or 16 bits per colour) are
written here.
"""
import io
import json
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image


def png(width, height, bits, kind, passes, interlaced=False):
    """A PNG of rows of bytes, for each pass a list."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + row for rows in passes for row in rows)
    head = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def adam7(array):
    starts = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
    parts = [array[y::dy, x::dx] for y, x, dy, dx in starts]
    return [[row.tobytes() for row in part] for part in parts if part.size]


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def pixels(data, mode=None):
    image = Image.open(io.BytesIO(data))
    return np.asarray(image.convert(mode) if mode else image)


rng = np.random.default_rng(3)
noise = rng.integers(0, 256, (5, 7, 4), np.uint8)
rgb, grey = noise[..., :3], noise[..., 0]
palette = Image.fromarray(rgb).quantize(9)
files = {
    "grey": (saved(Image.fromarray(grey), "png"), None),
    "colours": (saved(Image.fromarray(rgb), "png"), None),
    "opacity": (saved(Image.fromarray(noise), "png"), None),
    "grey and opacity": (saved(Image.fromarray(noise[..., :2], "LA"), "png"), None),
    "1 bit": (saved(Image.fromarray(grey > 128), "png"), "L"),
    "palette": (saved(palette, "png"), "RGB"),
    "transparent palette": (saved(palette, "png", transparency=2), "RGBA"),
    "interlaced": (png(7, 5, 8, 2, adam7(rgb), True), None),
}
wide = rng.integers(0, 65536, (5, 7), np.uint16)
wide[0, :4] = 128, 129, 65535 - 128, 65535 - 129
y, x = np.mgrid[0:13, 0:19]
smooth = np.stack([x * 13, y * 19, 255 - x * 7 - y * 5], -1).astype(np.uint8)
smooth[3:6, 4:9] = 240, 20, 90
files |= {
    "JPEG": (saved(Image.fromarray(smooth), "jpeg", quality=85), None),
    "JPEG in grey": (saved(Image.fromarray(smooth[..., 1]), "jpeg", quality=60), None),
    "JPEG, progressive": (saved(Image.fromarray(smooth), "jpeg", quality=95, subsampling=0, progressive=True), None),
}
found = {name: {"pixels": pixels(data, mode).astype(int), "bytes": data} for name, (data, mode) in files.items()}
found["16 bits"] = {"pixels": np.floor(wide / 257 + 0.5).astype(int),
                    "bytes": png(7, 5, 16, 0, [[row.astype(">u2").tobytes() for row in wide]])}
cmyk = saved(Image.fromarray(smooth).convert("CMYK"), "jpeg")
entries = []
for name, entry in found.items():
    values = entry["pixels"].reshape(*entry["pixels"].shape[:2], -1).transpose(2, 0, 1)
    entries.append(f'{json.dumps(name)}: ' + json.dumps({"shape": values.shape, "values": values.ravel().tolist(),
                                                         "bytes": entry["bytes"].hex()}, separators=(",", ":")))
pathlib.Path(__file__).with_name("images.json").write_text(
    '{"files": {\n' + ",\n".join(entries) + '\n},\n"CMYK": "' + cmyk.hex() + '"}\n')

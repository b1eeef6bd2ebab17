#!/usr/bin/env python3
"""numpy.json: files of NumPy, in hexadecimal digits, with the values that they hold.

    python3 tests/data/make_numpy.py        # with NumPy 1.23 or later; takes a second

"npy" has files of one array. `same` marks those that save_npy must write with the same bytes. "npz" has archives: those
of savez and savez_compressed, one with fields of ZIP64, and "written", which save_npz must write with the same bytes;
NumPy reads it here.
"""
import io
import json
import pathlib
import zipfile

import numpy as np


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version)
    return out.getvalue()


def described(array):
    array = np.asarray(array)
    values = array.astype(np.float64 if array.dtype.kind == "f" else np.int64).ravel().tolist()
    shown = {np.inf: "inf", -np.inf: "-inf"}
    kept = array.dtype.newbyteorder("=") in (np.float64, np.int32, np.uint8, np.bool_)
    return {"dtype": str(array.dtype.newbyteorder("=")) if kept else "float32" if array.dtype.kind == "f" else "int64",
            "shape": list(array.shape),
            "values": [shown.get(x, "nan" if x != x else x) for x in values]}


def stored_zip(arrays):
    """As save_npz writes it: not compressed, without dates."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(name + ".npy"), npy(array))
    return out.getvalue()


def zip64(arrays):
    """With ZIP64 fields instead of sizes and positions, as in archives of more than 4 GB."""
    limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 100
    try:
        return stored_zip(arrays)
    finally:
        zipfile.ZIP64_LIMIT = limit


rng = np.random.default_rng(7)
plain = {
    "float32": np.array([[1.5, -2.25, np.inf], [0.1, -0.0, np.nan]], np.float32),
    "float64": np.array(rng.standard_normal((2, 1, 3))),
    "scalar": np.array(0.1),
    "int64": np.array([0, -5, 2**62, -2**63], np.int64),
    "int32": np.array([-(2**31), 2**31 - 1], np.int32),
    "uint8": np.array([[5, 255]], np.uint8),
    "bool": np.array([[True, False], [False, True]]),
    "empty": np.zeros((0, 3), np.float32),
    "eight axes": np.arange(4.0).reshape(1, 2, 1, 1, 2, 1, 1, 1),
    "long": np.arange(200),
}
read_only = {
    "float16": np.array([1, -2, 65504, 2.0**-24, np.inf, 0.1], np.float16),
    "int16": np.array([-(2**15), 2**15 - 1], np.int16),
    "int8": np.array([-128, 127], np.int8),
    "uint64": np.array([5, 2**63 - 1], np.uint64),
    "uint32": np.array([5, 2**32 - 1], np.uint32),
    "uint16": np.array([5, 2**16 - 1], np.uint16),
    "big-endian float32": np.array([1.5, -3], ">f4"),
    "big-endian int32": np.array([1, -2], ">i4"),
    "big-endian float16": np.array([1.5, -3], ">f2"),
}
fortran = {"fortran": np.asfortranarray(rng.standard_normal((2, 3, 4))), "fortran int64": np.asfortranarray(np.arange(6).reshape(2, 3))}

files = {}
for name, array in plain.items():
    files[name] = {**described(array), "same": True, "bytes": npy(array)}
for name, array in {**read_only, **fortran}.items():
    files[name] = {**described(array), "same": name in fortran, "bytes": npy(array)}
for version in ((2, 0), (3, 0)):
    files[f"version {version[0]}"] = {**described(plain["float32"]), "same": False, "bytes": npy(plain["float32"], version)}

named = {"weight": plain["float32"], "layers.0.bias": plain["float64"], "maße": plain["bool"], "none": plain["empty"],
         "turned": fortran["fortran"], "long": plain["long"]}
noise = rng.integers(0, 256, 6000).astype(np.uint8)  # more compressed bytes than are read at a time
archives = {}
for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
    out = io.BytesIO()
    save(out, plain["scalar"], **named, noise=noise)
    archives[name] = {"arrays": {**{k: described(v) for k, v in named.items()}, "arr_0": described(plain["scalar"]), "noise": described(noise)},
                      "bytes": out.getvalue()}
written = {name: np.ascontiguousarray(array) for name, array in named.items()}
for name, data in (("written", stored_zip(written)), ("zip64", zip64(written))):
    archives[name] = {"arrays": {k: described(v) for k, v in written.items()}, "bytes": data}
    with np.load(io.BytesIO(data)) as back:  # NumPy reads what save_npz writes
        assert list(back.files) == list(written)
        for key, array in written.items():
            assert back[key].dtype == array.dtype and back[key].tobytes() == array.tobytes()

path = pathlib.Path(__file__).parent / "numpy.json"
lines = []
for kind, entries in (("npy", files), ("npz", archives)):
    inner = ",\n".join(f'{json.dumps(name)}: {json.dumps({**entry, "bytes": entry["bytes"].hex()})}' for name, entry in entries.items())
    lines.append(f'"{kind}": {{\n{inner}\n}}')
path.write_text("{\n" + ",\n".join(lines) + "\n}\n")

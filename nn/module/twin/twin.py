"""Runs a PyTorch module for nn::twin of tapegrad, which compares a port of the module with it. Needs torch only.

    import twin
    torch.manual_seed(0)
    model = Net()
    twin.write("net.safetensors", model, [x, y],
               outputs=lambda model, x, y: model(x),
               loss=lambda model, x, y: F.cross_entropy(model(x), y),
               optimizer=lambda model: torch.optim.AdamW(model.parameters(), lr=1e-3))

The file holds the weights, the inputs and, for copies of the model in float32 and float64: the outputs, the gradients of the
first step, the losses of all steps, and after each step the sum over the elements of each parameter and buffer, each element times
1 + cos(its index). The model does not change.
"""
import copy
import ctypes
import json
import warnings

import torch

NAMES = {torch.float64: "F64", torch.float32: "F32", torch.int64: "I64", torch.int32: "I32", torch.uint8: "U8", torch.bool: "BOOL"}


def save(path, tensors, metadata):
    """Writes a safetensors file: types of 8 bytes first, so that all tensors are aligned."""
    known = {}
    for name, value in tensors.items():
        if value.dtype not in NAMES:
            value = value.to(torch.float32 if value.is_floating_point() else torch.int64)
        known[name] = value.detach().cpu().contiguous()
    header, at = {"__metadata__": metadata}, 0
    order = sorted(known, key=lambda name: -known[name].element_size())
    for name in order:
        size = known[name].numel() * known[name].element_size()
        header[name] = {"dtype": NAMES[known[name].dtype], "shape": list(known[name].shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(ctypes.string_at(known[name].data_ptr(), known[name].numel() * known[name].element_size()))


def probe(x):
    """One weight per element: 1 + cos(i)."""
    return 1 + torch.cos(torch.arange(x.numel(), dtype=torch.float64)).to(x.dtype).reshape(x.shape)


def digest(x):
    return (x.detach().double() * probe(x.double())).sum()


def listed(outputs):
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    return [x for x in (outputs.values() if isinstance(outputs, dict) else outputs) if isinstance(x, torch.Tensor)]


def converted(model, dtype):
    """A copy in another type, with tensors that are plain attributes, which Module.to leaves."""
    model = copy.deepcopy(model).to(dtype)
    for module in model.modules():
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                setattr(module, name, value.to(dtype))
    return model


def run(model, inputs, outputs, loss, optimizer, steps, seed):
    """The results of one model, which changes, under their names in the file."""
    found, losses, digests = {}, [], {}
    torch.manual_seed(seed)
    for i, value in enumerate(listed(outputs(copy.deepcopy(model), *inputs))):
        found[f"output.{i}"] = value.detach().clone()
    update = optimizer(model)
    for step in range(steps):
        torch.manual_seed(seed + step)
        update.zero_grad()
        value = loss(model, *inputs)
        value.backward()
        losses.append(value.item())
        if step == 0:
            for name, entry in model.state_dict(keep_vars=True).items():
                if entry.requires_grad and entry.grad is not None:
                    found["gradient." + name] = entry.grad.detach().clone()
        update.step()
        for name, entry in model.state_dict().items():
            digests.setdefault(name, []).append(digest(entry))
    found["losses"] = torch.tensor(losses, dtype=torch.float64)
    for name, values in digests.items():
        found["after." + name] = torch.stack(values)
    return found


def write(path, model, inputs, outputs=None, loss=None, optimizer=None, steps=20, seed=0):
    """Runs copies of `model` in float32 and float64 and writes `path`.

    inputs: tensors. outputs(model, *inputs): a tensor, or a list, tuple or dict of tensors;
default: model(*inputs).loss(model, *inputs) : a number;
default:
  the mean of the outputs' elements, each times 1 + cos(its index). optimizer(model)
      : an object with zero_grad and step;
default: SGD with lr 0.01.
    The seed is set to `seed` before the outputs, and to `seed` + i before the loss of step i = 0, 1, ...
    """
    outputs = outputs or (lambda model, *inputs: model(*inputs))
    loss = loss or (lambda model, *inputs: sum((y * probe(y)).mean() for y in listed(outputs(model, *inputs)) if y.is_floating_point()))
    optimizer = optimizer or (lambda model: torch.optim.SGD(model.parameters(), lr=0.01))
    tensors = {"weight." + name: value for name, value in model.state_dict().items()}
    tensors.update({f"input.{i}": value for i, value in enumerate(inputs)})
    with torch.random.fork_rng(devices=[]):
        for dtype in (torch.float32, torch.float64):
            given = [x.to(dtype) if x.is_floating_point() else x for x in inputs]
            found = run(converted(model, dtype), given, outputs, loss, optimizer, steps, seed)
            tensors.update({f"{NAMES[dtype]}.{name}": value for name, value in found.items()})
    narrow, wide = tensors["F32.losses"][0], tensors["F64.losses"][0]
    if abs(narrow - wide) > 1e-2 * abs(wide):
        warnings.warn(f"the first loss is {narrow:.6g} in float32 and {wide:.6g} in float64: does a part have another type?")
    save(path, tensors, {"twin": "1", "steps": str(steps), "seed": str(seed), "torch": torch.__version__})

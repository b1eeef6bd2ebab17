"""Writes optim_net.json: a small net after 200 steps of PyTorch's optimisers, and learning rates of its schedulers, for
tests/optim/optimizers_net.cpp. Needs torch 2.15. Lion, which PyTorch lacks, is the rule of its paper.

Start and data are formulas of the index, so the test computes them itself.
"""
import json
import pathlib

import torch

torch.set_num_threads(1)
F64 = torch.float64
SIZES = {"w1": (8, 6), "b1": (8,), "w2": (4, 8), "b2": (4,)}
STEPS = 200


def formula(a, b, c, *shape):
    n = int(torch.tensor(shape).prod())
    return torch.tensor([((a * i * i + b * i + c) % 31 - 15) / 16 for i in range(n)], dtype=F64).reshape(shape)


X, Y = formula(3, 5, 1, 16, 6), formula(7, 2, 4, 16, 4)


def parameters():
    return {name: torch.nn.Parameter(formula(2, 7, k, *shape) / 2) for k, (name, shape) in enumerate(SIZES.items())}


def loss_of(p):
    hidden = torch.tanh(X @ p["w1"].T + p["b1"])
    return ((hidden @ p["w2"].T + p["b2"] - Y) ** 2).mean()


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (beta1, beta2), lr = group["betas"], group["lr"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                update = (beta1 * m + (1 - beta1) * p.grad).sign()
                p.copy_(p * (1 - lr * group["weight_decay"]) - lr * update)
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


MAKE = {"rmsprop": torch.optim.RMSprop, "adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
        "nadam": torch.optim.NAdam, "radam": torch.optim.RAdam, "adafactor": torch.optim.Adafactor, "lion": Lion,
        "adamax": torch.optim.Adamax, "adadelta": torch.optim.Adadelta, "rprop": torch.optim.Rprop,
        "muon": torch.optim.Muon, "asgd": torch.optim.ASGD, "lbfgs": torch.optim.LBFGS}
RUNS = [
    ("rmsprop", {}),
    ("rmsprop", {"lr": 2e-3, "alpha": 0.9, "momentum": 0.7, "centered": True, "weight_decay": 0.02, "eps": 1e-3}),
    ("adagrad", {}),
    ("adagrad", {"lr": 0.05, "lr_decay": 0.01, "initial_accumulator_value": 0.1, "weight_decay": 0.01}),
    ("adam", {"amsgrad": True}),
    ("adamw", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1, "betas": [0.9, 0.9]}),
    ("nadam", {}),
    ("nadam", {"lr": 0.003, "weight_decay": 0.05, "momentum_decay": 0.01}),
    ("radam", {}),
    ("radam", {"lr": 0.02, "weight_decay": 0.05, "betas": [0.8, 0.99]}),
    ("adafactor", {}),
    ("adafactor", {"lr": 0.05, "weight_decay": 0.1, "d": 2.0, "beta2_decay": -0.6}),
    ("lion", {}),
    ("lion", {"lr": 1e-3, "weight_decay": 0.1, "betas": [0.95, 0.98]}),
    ("muon", {}),
    ("muon", {"lr": 0.01, "momentum": 0.9, "nesterov": False, "weight_decay": 0.0, "adjust_lr_fn": "match_rms_adamw"}),
    ("muon", {"lr": 0.005, "ns_steps": 2, "adjust_lr_fn": "spectral_unclamped"}),
    ("nadam", {"lr": 0.003, "weight_decay": 0.05, "decoupled_weight_decay": True}),
    ("radam", {"lr": 0.02, "weight_decay": 0.05, "decoupled_weight_decay": True}),
    ("asgd", {}),
    ("asgd", {"lr": 0.1, "lambd": 0.01, "alpha": 0.6, "t0": 50.0, "weight_decay": 0.03}),
    ("adamax", {}),
    ("adamax", {"lr": 0.005, "weight_decay": 0.05, "betas": [0.8, 0.95], "eps": 1e-3}),
    ("adadelta", {}),
    ("adadelta", {"lr": 0.5, "rho": 0.95, "eps": 1e-4, "weight_decay": 0.02}),
    ("rprop", {}),
    ("rprop", {"lr": 0.03, "etas": [0.4, 1.3], "step_sizes": [1e-3, 0.05]}),
    ("lbfgs", {"line_search_fn": "strong_wolfe"}),
    ("lbfgs", {"lr": 0.5, "history_size": 5}),
]


def run(kind, options, groups=False):
    p = parameters()
    trained = [p["w1"], p["w2"]] if kind == "muon" else list(p.values())
    if groups:
        trained = [{"params": [p["w1"], p["b1"]]}, {"params": [p["w2"], p["b2"]], "lr": 3e-3, "weight_decay": 0.2}]
    optimiser = MAKE[kind](trained, **options)
    losses = []

    def closure():
        optimiser.zero_grad()
        loss = loss_of(p)
        if kind == "lbfgs":  # without it even the smallest differences grow
            loss = loss + 0.05 * sum((value ** 2).sum() for value in p.values())
        loss.backward()
        return loss

    steps = STEPS
    if kind == "lbfgs":  # of up to 20 iterations each. Without a line search a difference of 1e-16 grows to 1e-6 in six
        steps = 10 if "line_search_fn" in options else 4
    for _ in range(steps):
        losses.append(float(optimiser.step(closure)) if kind == "lbfgs" else closure().item())
        if kind != "lbfgs":
            optimiser.step()
    return {"kind": kind, "options": options, "groups": groups, "losses": losses if kind == "lbfgs" else losses[::20] + losses[-1:],
            **({"ax": {name: optimiser.state[value]["ax"].flatten().tolist() for name, value in p.items()}} if kind == "asgd" else {}),
            "end": {name: value.detach().flatten().tolist() for name, value in p.items()}}


def rates(make, steps):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3, momentum=0.9)
    scheduler = make(optimiser)
    found = []
    for _ in range(steps):
        found.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        scheduler.step()
    return found


S = torch.optim.lr_scheduler
SCHEDULES = {
    "cosine": (lambda o: S.CosineAnnealingLR(o, 7, 0.01), 20),
    "multi_step": (lambda o: S.MultiStepLR(o, [3, 7, 7, 20], 0.5), 30),
    "exponential": (lambda o: S.ExponentialLR(o, 0.9), 30),
    "linear": (lambda o: S.LinearLR(o, 0.25, 1.0, 10), 30),
    "polynomial": (lambda o: S.PolynomialLR(o, 10, 2.0), 30),
    "cosine_restarts": (lambda o: S.CosineAnnealingWarmRestarts(o, 7, 1, 0.01), 30),
    "cosine_restarts_growing": (lambda o: S.CosineAnnealingWarmRestarts(o, 3, 2, 0.01), 60),
    "one_cycle": (lambda o: S.OneCycleLR(o, 0.3, total_steps=40), 39),
    "one_cycle_linear": (lambda o: S.OneCycleLR(o, 0.3, total_steps=40, anneal_strategy="linear", pct_start=0.2, div_factor=10.0), 39),
    "one_cycle_three": (lambda o: S.OneCycleLR(o, 0.3, total_steps=40, three_phase=True, final_div_factor=100.0), 39),
    "chain": (lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 5), S.ExponentialLR(o, 0.8)], [8]), 30),
}
METRICS = [1.0, 0.9, 0.91, 0.8999, 0.95, 0.9, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.69, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.2, 0.3, 0.3, 0.3, 0.3]


def plateau(**options):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    scheduler = S.ReduceLROnPlateau(optimiser, **options)
    found = []
    for metric in METRICS:
        scheduler.step(metric)
        found.append(optimiser.param_groups[0]["lr"])
    return {"options": options, "rates": found}


data = {
    "runs": [run(kind, options) for kind, options in RUNS] + [run("rmsprop", {"lr": 1e-3}, True), run("nadam", {"lr": 1e-3}, True)],
    "schedules": {name: rates(make, steps) for name, (make, steps) in SCHEDULES.items()},
    "metrics": METRICS,
    "plateau": [plateau(patience=2), plateau(mode="max", patience=1, factor=0.5, cooldown=2),
                plateau(patience=1, threshold=0.05, threshold_mode="abs", min_lr=0.001)],
}
path = pathlib.Path(__file__).with_name("optim_net.json")
path.write_text(json.dumps(data, separators=(",", ":")).replace('{"kind"', '\n{"kind"').replace('"schedules"', '\n"schedules"') + "\n")

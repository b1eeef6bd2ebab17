"""Products and linear algebra."""
from protocol import Call
from adapters.registry import ADAPTERS, is_t, need, on, scalar


# --- products ---
PRODUCTS = {"matmul": "matmul", "mm": "matmul", "bmm": "bmm", "mv": "mv", "dot": "dot", "vdot": "dot", "outer": "outer", "ger": "outer"}
for theirs, ours in PRODUCTS.items():
    ADAPTERS[theirs] = (lambda ours: lambda input, other: Call(ours, [input, other]))(ours)


@on("inner")
def _(input, other):
    need(input.dim() == 1 and other.dim() == 1, "several axes")
    return Call("dot", [input, other])


@on("nn.functional.linear")
def _(input, weight, bias=None):
    return Call("linear", [input, weight, bias])


@on("einsum")
def _(tensors, equation):
    return Call("einsum", tensors, equation=equation.replace(" ", ""))


@on("tensordot")
def _(input, other, dims=2):
    if isinstance(dims, int):
        return Call("tensordot", [input, other], count=dims)
    return Call("tensordot", [input, other], a=list(dims[0]), b=list(dims[1]))


for name in ("addmm", "baddbmm"):
    def f(input, a, b, *, beta=1, alpha=1, name=name):
        return Call(name, [input, a, b], beta=scalar(beta), alpha=scalar(alpha))
    ADAPTERS[name] = f


@on("kron")
def _(a, b):
    return Call("kron", [a, b])


@on("cross")
def _(input, other, dim=None):
    if dim is None:  # the first axis of size 3
        threes = [k for k, n in enumerate(input.shape) if n == 3]
        need(threes, "no axis of size 3")
        dim = threes[0] - input.dim()
    return Call("cross", [input, other], dim=dim)


@on("linalg.cross")
def _(input, other, *, dim=-1):
    return Call("cross", [input, other], dim=dim)


# --- linear algebra ---
@on("linalg.solve", "linalg.solve_ex")
def _(A, B, *, left=True, check_errors=False):
    need(left, "option left")
    return Call("solve", [A, B], same=lambda y: [y] if is_t(y) else [y[0]])


@on("linalg.solve_triangular")
def _(A, B, *, upper, left=True, unitriangular=False):
    return Call("triangular_solve", [A, B], upper=upper, left=left, unitriangular=unitriangular)


@on("triangular_solve")
def _(b, A, upper=True, transpose=False, unitriangular=False):
    need(not transpose, "option transpose")
    return Call("triangular_solve", [A, b], upper=upper, unitriangular=unitriangular, same=lambda y: [y[0]])


@on("linalg.inv", "linalg.inv_ex")
def _(A, *, check_errors=False):
    return Call("inverse", [A], same=lambda y: [y] if is_t(y) else [y[0]])


@on("linalg.lstsq")
def _(A, B, *, rcond=None, driver=None):
    need(driver in (None, "gels", "gelsy", "gelsd", "gelss"), "driver")
    need(A.dim() - 1 != B.dim() or A.dim() < 2, "vector")
    return Call("lstsq", [A, B], same=lambda y: [y[0]])


def upper_of(upper=False, **k):
    return upper


@on("linalg.cholesky", "linalg.cholesky_ex")
def _(A, *, upper=False, check_errors=False):
    return Call("cholesky", [A], upper=upper, same=lambda y: [y] if is_t(y) else [y[0]])


@on("cholesky")
def _(A, upper=False):
    return Call("cholesky", [A], upper=upper)


@on("linalg.det")
def _(A):
    return Call("det", [A])


@on("linalg.slogdet")
def _(A):
    return Call("slogdet", [A])


@on("logdet")
def _(A):
    return Call("logdet", [A])


@on("linalg.qr")
def _(A, mode="reduced"):
    need(mode != "r", "mode r")
    return Call("qr", [A], mode=mode, first="q")


def of_eigh(y):
    w, v = y
    return [w, (v * w.sin().unsqueeze(-2)) @ v.mT]


@on("linalg.eigh")
def _(A, UPLO="L"):
    return Call("eigh", [A], same=of_eigh, upper=UPLO in ("U", "u"))


@on("linalg.eigvalsh")
def _(A, UPLO="L"):
    return Call("eigvalsh", [A], upper=UPLO in ("U", "u"))


def of_svd(y):
    u, s, vh = y
    k = s.shape[-1]
    return [s, (u[..., :k] * s.sin().unsqueeze(-2)) @ vh[..., :k, :]]


@on("linalg.svd")
def _(A, full_matrices=True, *, driver=None):
    return Call("svd", [A], full_matrices=full_matrices, same=of_svd)


@on("svd")
def _(A, some=True, compute_uv=True):
    need(compute_uv, "option compute_uv")
    return Call("svd", [A], full_matrices=not some, same=lambda y: of_svd((y[0], y[1], y[2].mT)))


@on("linalg.svdvals")
def _(A, *, driver=None):
    return Call("svdvals", [A])


@on("linalg.pinv", "pinverse")
def _(A, rcond=None, *, atol=None, rtol=None, hermitian=False):
    need(atol is None and not hermitian, "option atol, hermitian")
    r = rcond if rcond is not None else rtol
    need(not is_t(r), "tensor as tolerance")
    return Call("pinv", [A], rcond=None if r is None else float(r))


ADAPTERS[("linalg.pinv", "hermitian")] = lambda *a, **k: need(False, "option hermitian")
ADAPTERS[("linalg.pinv", "singular")] = lambda *a, **k: need(False, "a product")


@on("linalg.matrix_power", "matrix_power")
def _(A, n):
    return Call("matrix_power", [A], n=n)

"""einsum, tensordot and linear algebra."""
import torch

from golden_file import *


def einsum():
    f = Family("einsum")

    def case(equation, *shapes, dtype, grad=True, label=""):
        inputs = [rand(*s, dtype=dtype, low=-1, high=1) if isinstance(s, tuple) else s for s in shapes]
        f.case("einsum", lambda *x: torch.einsum(equation, *x), inputs, grad=grad and dtype in FLOATS, label=label, equation=equation)

    equations = (("bthd,bshd->bhts", (2, 3, 2, 4), (2, 5, 2, 4)), ("bhts,bshd->bthd", (2, 2, 3, 5), (2, 5, 2, 4)), ("ij,jk->ik", (3, 4), (4, 5)),
                 ("ij,jk->ki", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("bA,Ac", (3, 4), (4, 5)), ("ii", (3, 3)), ("ii->i", (3, 3)), ("iij->ji", (3, 3, 2)),
                 ("iijj->ij", (2, 2, 3, 3)), ("iii->i", (3, 3, 3)), ("ijij->", (2, 3, 2, 3)), ("ij->ji", (3, 4)), ("ba", (3, 4)), ("ij->", (3, 4)), ("ij->j", (3, 4)),
                 ("i,j->ij", (3,), (4,)), ("i,i->", (3,), (3,)), ("i,i->i", (3,), (3,)), ("i,i", (3,), (3,)), ("ij,ij->ij", (3, 4), (3, 4)), ("ij,ji->ij", (3, 4), (4, 3)),
                 ("bi,bi->b", (3, 4), (3, 4)), ("bij,bj->bi", (2, 3, 4), (2, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ijb,jkb->ikb", (3, 4, 2), (4, 5, 2)),
                 ("...ij,...jk->...ik", (5, 1, 2, 3), (6, 3, 4)), ("...i,...i->...", (2, 0, 3), (1, 3)), ("...,...", (2, 3), (3,)), ("...ij->...ji", (2, 3, 4)),
                 ("...ij->ji", (4, 2, 3)), ("i...->...i", (2, 3, 4)), ("b...i,...ij->b...j", (2, 3, 4), (3, 4, 5)), ("i->...i", (3,)), ("i,...->...i", (3,), (2, 4)),
                 ("ij,ij->", (3, 4), (3, 1)), ("ij,jk->ik", (3, 1), (4, 5)), ("i,i->i", (1,), (3,)), ("ij,ik->jk", (1, 3), (1, 4)), ("i,i->i", (1,), (1,)),
                 ("bi,oij,bj->bo", (3, 4), (2, 4, 5), (3, 5)), ("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 5), (5, 2)), ("ij,kj,k,i->", (3, 4), (5, 4), (5,), (3,)),
                 ("i,j,k->kji", (2,), (3,), (4,)), ("ij,j,j->i", (3, 4), (4,), (4,)), ("ab,bc,cd,de,ea->", (2, 3), (3, 2), (2, 3), (3, 2), (2, 2)),
                 ("ij,k->i", (2, 3), (4,)), ("i,", (3,), ()), (",", (), ()), ("", ()), ("abcdef,abcdeg->abcdefg", (1, 2, 1, 2, 1, 2), (1, 2, 1, 2, 1, 3)),
                 ("abcdefgh,abcdefgh->abcdefg", (1, 2, 1, 2, 1, 2, 1, 3), (1, 2, 1, 2, 1, 2, 1, 3)), ("abcd,cdef->abef", (2, 3, 2, 3), (2, 3, 2, 3)),
                 ("acbd,dcef->abef", (2, 3, 2, 3), (3, 3, 2, 3)), ("ij,jk->ik", (0, 3), (3, 4)), ("ij,jk->ik", (2, 0), (0, 4)), ("ij,jk->ik", (2, 3), (3, 0)),
                 ("ij->i", (2, 0)), ("ii->i", (0, 0)), (" i j , j k -> i k ", (3, 4), (4, 5)), ("a,b,c,d,e,f,g,h,i->", *[(2,)] * 9),
                 ("ab,bc,cd,de,ef,fg,gh,hi,ij->aj", *[(2, 2)] * 9), ("ab,ab,bc,bc->ac", (3, 4), (3, 4), (4, 2), (4, 2)))
    for dtype in FLOATS:
        for equation, *shapes in equations:
            case(equation, *shapes, dtype=dtype)
        for a in layouts(rand(3, 4, dtype=dtype)):
            for b in layouts(rand(4, 5, dtype=dtype)):
                case("ij,jk->ki", a, b, dtype=dtype, label="layouts")
        for a in layouts(rand(2, 3, 4, dtype=dtype)):
            for b in layouts(rand(4, 3, 2, dtype=dtype)):
                case("bij,jib->ij", a, b, dtype=dtype, label="layouts")
                case("bij,jkc->bc", a, b, dtype=dtype, label="layouts")
        case("ij,jk->ik", expanded(rand(1, 3, dtype=dtype), 4, 3), expanded(rand(3, 1, dtype=dtype), 3, 5), dtype=dtype, label="expanded")
        x = rand(3, 4, dtype=dtype)
        x[0, 1], x[2, 3] = NAN, INF
        case("ij,jk->ik", x, rand(4, 2, dtype=dtype, low=0.5), dtype=dtype, grad=False, label="NaN and infinity")
        case("ii->i", torch.where(torch.eye(3, dtype=torch.bool), torch.ones(3, 3, dtype=dtype), torch.full((3, 3), NAN, dtype=dtype)), dtype=dtype, grad=False,
             label="NaN beside the diagonal")
    for equation, *shapes in (("ij,jk->ik", (3, 4), (4, 5)), ("i,i->", (3,), (3,)), ("ij->j", (3, 4)), ("bij,bj->bi", (2, 3, 4), (2, 4)), ("ij,ij->ij", (3, 4), (3, 1))):
        case(equation, *[rand(*s, dtype=I64) for s in shapes], dtype=I64)

    for dtype in (F32, F64, I64):
        grad = dtype in FLOATS
        for count, a, b in ((2, (2, 3, 4), (3, 4, 5)), (1, (2, 3), (3, 4)), (0, (2, 3), (4,)), (2, (3, 4), (3, 4)), (1, (2, 0), (0, 3)), (1, (3,), (3,))):
            f.case("tensordot", lambda x, y: torch.tensordot(x, y, count), [rand(*a, dtype=dtype), rand(*b, dtype=dtype)], grad=grad, count=count)
        for axes_a, axes_b, a, b in (([0], [1], (2, 3), (4, 2)), ([-1, 0], [0, 2], (2, 3, 4), (4, 5, 2)), ([1, 0], [0, 1], (2, 3), (3, 2)), ([0], [0], (1, 3), (4, 2)),
                                     ([], [], (2,), (3,))):
            f.case("tensordot", lambda x, y: torch.tensordot(x, y, dims=(axes_a, axes_b)), [rand(*a, dtype=dtype), rand(*b, dtype=dtype)], grad=grad, axes_a=axes_a,
                   axes_b=axes_b)
        f.case("outer", torch.outer, [rand(3, dtype=dtype), strided(rand(4, dtype=dtype))], grad=grad)
        f.case("outer", torch.outer, [rand(0, dtype=dtype), rand(4, dtype=dtype)], grad=grad)
    for dtype in FLOATS:
        for a in layouts(rand(2, 3, 4, dtype=dtype)):
            f.case("bmm", torch.bmm, [a, rand(2, 4, 5, dtype=dtype)], grad=True)
        f.case("bmm", torch.bmm, [rand(0, 3, 4, dtype=dtype), rand(0, 4, 5, dtype=dtype)], grad=True)
        f.case("bmm", torch.bmm, [rand(2, 3, 0, dtype=dtype), rand(2, 0, 5, dtype=dtype)], grad=True)
        for a in layouts(rand(3, 4, dtype=dtype)):
            f.case("mv", torch.mv, [a, rand(4, dtype=dtype)], grad=True)
        f.case("mv", torch.mv, [rand(3, 0, dtype=dtype), rand(0, dtype=dtype)], grad=True)
        f.case("dot", torch.dot, [strided(rand(7, dtype=dtype)), reversed_(rand(7, dtype=dtype))], grad=True)
        f.case("dot", torch.dot, [rand(0, dtype=dtype), rand(0, dtype=dtype)], grad=True)
    return f


def regular(*shape, dtype):
    """Well-conditioned, with distinct singular values."""
    n = shape[-1]
    return rand(*shape, dtype=dtype, low=-0.5, high=0.5) + torch.diag(torch.arange(2, 2 + n, dtype=dtype))


def positive(*shape, dtype):
    x = rand(*shape, dtype=dtype, low=-1, high=1)
    return x @ x.transpose(-1, -2) + torch.eye(shape[-1], dtype=dtype)


def oblong(*shape, dtype):
    """With full rank and distinct singular values."""
    return rand(*shape, dtype=dtype, low=-0.5, high=0.5) + torch.eye(*shape[-2:], dtype=dtype) * torch.arange(2, 2 + 2 * shape[-1], 2, dtype=dtype)


def systems(f, dtype):
    def solve(a, b):
        f.case("solve", torch.linalg.solve, [a, b], grad=True)

    for a, b in (((3, 3), (3, 2)), ((3, 3), (3,)), ((2, 3, 3), (2, 3, 2)), ((2, 3, 3), (2, 3)), ((2, 1, 3, 3), (4, 3, 1)), ((1, 1), (1, 1)), ((0, 0), (0, 2)),
                 ((2, 2), (2, 0)), ((0, 2, 2), (0, 2, 1)), ((40, 40), (40, 7))):
        solve(regular(*a, dtype=dtype), rand(*b, dtype=dtype))
    for a in layouts(regular(3, 3, dtype=dtype)):
        for b in layouts(rand(3, 4, dtype=dtype)):
            solve(a, b)
    for upper in (False, True):
        for left in (False, True):
            for unit in (False, True):
                for batch_a, batch_b in (((), ()), ((2,), (2,)), ((2, 1), (3,))):
                    options = dict(upper=upper, left=left, unitriangular=unit)
                    b = (3, 2) if left else (2, 3)
                    for a in layouts(regular(*batch_a, 3, 3, dtype=dtype)):
                        f.case("triangular_solve", lambda a, b: torch.linalg.solve_triangular(a, b, **options), [a, rand(*batch_b, *b, dtype=dtype)], grad=True,
                               **options)
    for shape in ((3, 3), (2, 3, 3), (1, 1), (0, 0), (0, 2, 2)):
        f.case("inverse", torch.linalg.inv, [regular(*shape, dtype=dtype)], grad=True)
        for n in (0, 1, 2, 5, -1, -3):
            f.case("matrix_power", lambda x: torch.linalg.matrix_power(x, n), [regular(*shape, dtype=dtype) / 3], grad=n != 0, n=n)
    for a, b in (((4, 2), (4, 3)), ((3, 3), (3, 1)), ((2, 4, 2), (2, 4, 1)), ((2, 4), (2, 3))):
        f.case("lstsq", lambda a, b: torch.linalg.lstsq(a, b).solution, [oblong(*a, dtype=dtype), rand(*b, dtype=dtype)], grad=True)


def factors(f, dtype):
    for shape in ((3, 3), (2, 3, 3), (1, 1), (0, 0), (0, 2, 2), (2, 2, 2, 2)):
        a = positive(*shape, dtype=dtype)
        f.case("cholesky", torch.linalg.cholesky, [a], grad=True)
        f.case("cholesky", lambda x: torch.linalg.cholesky(x, upper=True), [a], grad=True, upper=True)
        f.case("det", torch.linalg.det, [regular(*shape, dtype=dtype)], grad=True)
        f.case("slogdet", lambda x: torch.linalg.slogdet(x)[::-1], [regular(*shape, dtype=dtype)], grad=True)
    for a in layouts(positive(3, 3, dtype=dtype)):
        for of, g in (("cholesky", torch.linalg.cholesky), ("det", torch.linalg.det), ("inverse", torch.linalg.inv)):
            f.case(of, g, [a], grad=True, label="layouts")
    swapped = regular(3, 3, dtype=dtype)[[1, 0, 2]]
    f.case("det", torch.linalg.det, [swapped], grad=True, label="negative")
    f.case("slogdet", lambda x: torch.linalg.slogdet(x)[::-1], [swapped], grad=True, label="negative")
    singular = torch.tensor([[1, 2, 3], [2, 4, 6], [1, 0, 1]], dtype=dtype)
    f.case("det", torch.linalg.det, [singular], label="singular")
    f.case("det", torch.linalg.det, [torch.zeros(2, 2, dtype=dtype)], label="singular")
    f.case("slogdet", lambda x: torch.linalg.slogdet(x)[::-1], [torch.zeros(2, 2, dtype=dtype)], label="singular")
    f.case("slogdet", lambda x: torch.linalg.slogdet(x)[::-1], [torch.eye(40, dtype=dtype) * 1e30], grad=True, label="overflow of det")
    for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2), (2, 2, 3), (0, 2), (2, 0), (0, 2, 2)):
        for mode in ("reduced", "complete"):
            grad = mode == "reduced" or shape[-2] <= shape[-1]
            f.case("qr", lambda x: torch.linalg.qr(x, mode), [oblong(*shape, dtype=dtype)], grad=grad, mode=mode, first="q")
            f.case("qr", lambda x: torch.linalg.qr(x, mode)[::-1], [oblong(*shape, dtype=dtype)], grad=grad, mode=mode, first="r")
    for a in layouts(oblong(4, 3, dtype=dtype)):
        f.case("qr", lambda x: torch.linalg.qr(x)[::-1], [a], grad=True, mode="reduced", first="r", label="layouts")


def spectra(f, dtype):
    """The signs of vectors are arbitrary: their absolute values are compared."""
    for shape in ((3, 3), (2, 3, 3), (1, 1), (0, 0), (0, 2, 2), (8, 8)):
        a = regular(*shape, dtype=dtype)
        f.case("eigvalsh", torch.linalg.eigvalsh, [a], grad=True)
        f.case("eigh", lambda x: torch.linalg.eigh(x)[0], [a], grad=True, of="values")
        f.case("eigh", lambda x: torch.linalg.eigh(x)[1].abs(), [a], grad=True, of="vectors")
    for a in layouts(regular(3, 3, dtype=dtype)):
        f.case("eigh", lambda x: torch.linalg.eigh(x)[1].abs(), [a], grad=True, of="vectors", label="layouts")
    f.case("eigvalsh", torch.linalg.eigvalsh, [torch.eye(3, dtype=dtype)], label="equal values")
    for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2), (2, 2, 3), (0, 2), (2, 0), (0, 2, 2), (9, 5)):
        a = oblong(*shape, dtype=dtype)
        f.case("svdvals", torch.linalg.svdvals, [a], grad=True)
        f.case("pinv", torch.linalg.pinv, [a], grad=True)
        k = min(shape[-2:])
        for full in (False, True):
            for i, of in enumerate(("u", "s", "vh")):
                f.case("svd", lambda x: torch.linalg.svd(x, full_matrices=full)[i][(..., slice(k)) if of == "u" else (..., slice(k), slice(None)) if of == "vh" else ...].abs(),
                       [a], grad=True, of=of, full=full)
    for a in layouts(oblong(3, 4, dtype=dtype)):
        f.case("svd", lambda x: torch.linalg.svd(x, full_matrices=False)[0].abs(), [a], grad=True, of="u", full=False, label="layouts")
        f.case("pinv", torch.linalg.pinv, [a], grad=True, label="layouts")
    f.case("pinv", torch.linalg.pinv, [torch.tensor([[1, 2], [2, 4], [0, 0]], dtype=dtype)], grad=True, label="rank 1")


def linalg():
    f = Family("linalg")
    for dtype in FLOATS:
        systems(f, dtype)
        factors(f, dtype)
        spectra(f, dtype)
    return f


FAMILIES = (einsum, linalg)

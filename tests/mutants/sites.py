"""The places of a source that are mutated, and the copy of it in which each of them is a switch.

A site is an expression of a backward region: an identifier, a call, a chain of them (pass.wants(0)), a number, true or
false, a condition, a returned value. In the copy it is written as

    ::tapegrad::mutants::mutant<17>(a * b)

whose value mutant.h changes if mutant 17 is switched on. Each switch is on a line of its own, so that an error of the
compiler names the site that cannot be one (it binds a reference, or is a type).
"""
import bisect
import re

KEYWORDS = set("""alignas alignof and auto bool break case catch char class concept const constexpr continue decltype
default delete do double else enum explicit extern float for friend goto if inline int int8_t int16_t int32_t int64_t
mutable namespace new noexcept not nullptr operator or private protected public requires return short signed size_t
sizeof static static_assert struct switch template this throw try typedef typename uint8_t uint16_t uint32_t uint64_t
union unsigned using virtual void volatile while std simd detail""".split())
# Where a region begins: a backward closure, a derivative in a table of formulas, a function that is named as one.
BACKWARD = re.compile(
    r"->\s*Grads\s*\{|\[[^\[\]]*\]\(auto dy[^)]*\)\s*(?:HWY_ATTR\s*)?\{|"
    r"^[ ]*(?!return |else |throw )(?:[\w:<>,&*]+ )+[&*]?[\w:]*(?:backward|gradient|grad_|_grad|slope|derivative|pulled|"
    r"Backward|Gradient|Slope)\w*\((?:[^;{}]|\{\})*\)\s*(?:const\s*)?\{|"
    r"^struct \w*(?:Backward|Gradient|Slope)\w*[^;{}()]*\{", re.M)
FUNCTION = re.compile(r"\)\s*(?:const\s*|noexcept\s*|override\s*|final\s*|HWY_ATTR\s*|->\s*[\w:<>]+\s*)*\{")
TENSOR_METHODS = ("t|detach|unsqueeze|squeeze|reshape|transpose|permute|slice|select|expand|to|contiguous|flatten|view|"
                  "narrow|movedim")


def is_whole(path):
    """Whether all functions of a file are mutated, not the backward regions alone."""
    return not path.startswith("autograd/ops/")


class Source:
    """The text of a C++ file, with what is no code (comments, strings, directives) known."""

    def __init__(self, text):
        self.text = text
        self.lines = [0] + [m.end() for m in re.finditer("\n", text)]
        no_code = r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*'
        self.skipped = [m.span() for m in re.finditer(no_code, text, re.M)]
        self.closing, stack = {}, []
        for m in re.finditer(r"[()\[\]{}]", text):
            if self.skips(m.start()):
                continue
            if m.group() in "([{":
                stack.append(m.start())
            elif stack:
                self.closing[stack.pop()] = m.start() + 1
        for m in re.finditer(r"\[[^\[\]]*\]\s*(?=[({])|\[&\]|\[=\]|\bauto&? \[[^\[\]]*\]", text):  # captures, bindings
            self.skipped.append(m.span())
        parameters = r"\]\s*\(|\b(?:decltype|sizeof|noexcept|static_assert|requires|constexpr|alignas)\s*\("
        for m in re.finditer(parameters, text):
            self.skipped.append((m.end() - 1, self.end(m.end() - 1)))
        errors = r"\b(?:\w+\.)?fail\(|\bfmt::format\(|\brequire_?\w*\(|\bOpTimer \w+\(|\bHWY_DISPATCH_TABLE\(|\bstd::(?:swap|exchange)\(|\brows_grain\(|\breserve\(|\bempty_laid_out_as\("
        for m in re.finditer(errors, text):  # texts of errors, names, hints, buffers
            self.skipped.append((m.start(), self.end(m.end() - 1)))
        of_shape = r"\b(?:std::)?(?:(?:is_)?all_finite|is(?:finite|nan|inf)|broken_rows|\w+_like|leading_axes|has_rows_of)\("
        for m in re.finditer(of_shape, text):  # of these arguments, only the shape matters, or that they are finite
            self.skipped.append((m.end() - 1, self.end(m.end() - 1)))
        for m in re.finditer(r"(?<=[;{}\n]) *(?:const )?[A-Za-z][\w:]*(?:<[^;()]*>)?[&*]? [&*]?\w+(?:, [&*]?\w+)+;", text):
            self.skipped.append(m.span())  # several variables
        for m in re.finditer(r"\btemplate\s*<|\bstatic_cast\s*<[^()]*>(?=\()|\bcase [^:\n]*:|\busing [^;]*;|\bthrow [^;]*;", text):
            self.skipped.append(m.span())
        for m in re.finditer(r"\b(?:static )?constexpr\b[^;({]*[;({]", text):  # constants stay constants
            self.skipped.append((m.start(), text.find(";", m.end() - 1) if m.group()[-1] != "{" else m.end()))
        self.skipped.sort()
        self.starts = [a for a, _ in self.skipped]
        self.furthest = []
        for _, b in self.skipped:
            self.furthest.append(max(b, self.furthest[-1] if self.furthest else 0))

    def skips(self, at):
        if hasattr(self, "furthest"):
            i = bisect.bisect_right(self.starts, at) - 1
            return i >= 0 and any(a <= at < b for a, b in self.skipped[max(0, i - 40):i + 1])
        i = bisect.bisect_right(self.skipped, (at, 1 << 60)) - 1
        return i >= 0 and at < self.skipped[i][1]

    def end(self, at):
        return self.closing.get(at, at)

    def line(self, at):
        return bisect.bisect_right(self.lines, at)

    def line_text(self, at):
        return self.text[self.lines[self.line(at) - 1]:].split("\n", 1)[0].strip()


def regions(source, whole):
    """Spans of the bodies of functions that are mutated."""
    found = []
    for m in (FUNCTION if whole else BACKWARD).finditer(source.text):
        begin = m.end() - 1
        if not source.skips(begin) and (not found or begin > found[-1][1]):
            found.append((begin + 1, source.end(begin) - 1))
    return found


def chain_end(source, at):
    """The end of a chain of names, calls and subscripts, of which the first name ends at `at`."""
    text = source.text
    while at < len(text):
        template = re.match(r"<[\w:, ]+>(?=\()", text[at:at + 60])
        if text[at] in "([":
            at = source.end(at)
        elif template:
            at += template.end()
        else:
            member = re.match(r"(?:\.|->|::)(?:template )?\w+", text[at:at + 80])
            if not member:
                return at
            at += member.end()
    return at


def may_stand(source, begin, end):
    """Whether text[begin:end] is a value where it stands: no declaration, no target of an assignment."""
    text = source.text
    before, after = text[max(0, begin - 40):begin], text[end:end + 12]
    if re.match(r"\s*(=[^=]|\+=|-=|\*=|/=|%=|\|=|&=|\^=|<<=|>>=|\+\+|--|->|::|\.\.\.)", after) or re.match(r"\s*\w", after):
        return False
    if re.search(r"(\+\+|--|[\w)>\]][&*]+ |[\w)]\s*&&? ?|(?<=\W)[&*~]|\.|->|::|\boperator\s*)$", before):
        if not re.search(r"[\w)\]] (&&|\*|&) $|(?<=\W)!$", before):
            return False
    if re.search(r"\)\s*$|\w<$", before) or re.search(r"[;{}]\s*$", before) and re.match(r"\s*;", after):
        return False  # a statement by itself, or a type
    word = re.search(r"([\w>]+)\s+$|(>)$", before)
    if word and word.group(1) and re.search(r"[\w>]$", word.group(1)) and word.group(1) not in ("return", "else", "case", "HWY_ATTR"):
        if not word.group(1).endswith(">") or re.search(r"[\w>]>\s+$", before) and not re.search(r"\w >\s+$|\s>\s+$", before):
            return False
    if re.match(r"\s*(\{|const\b|noexcept\b|override\b)", after) and text[end - 1] == ")":
        return False
    return not re.search(r"std::(move|forward<\w+>)\($", before)


def expressions(source, begin, end):
    """Spans of the expressions of a region."""
    text = source.text
    names = r"(?<![\w.:>])(?:[a-z]\w*::)*[a-z]\w*|(?<![\w.:])-?\b(?:\d+(?:\.\d+)?(?:e-?\d+)?f?|0x[\w.+-]+)(?![\w.])"
    for m in re.compile(names).finditer(text, begin, end):
        a, b = m.span()
        if source.skips(a):
            continue
        word = m.group()
        if word.startswith("-") and re.search(r"[\w)\]]\s*$", text[max(0, a - 4):a]):
            a, word = a + 1, word[1:]
        if word[0].isdigit() or word[0] == "-":
            if re.search(r"(<|get<|\[)$", text[max(0, a - 4):a]):
                continue
            yield a, b
            continue
        cast = word in ("static_cast", "double", "float", "int64_t", "int") and text[b:b + 1] in "<("
        if word in KEYWORDS and not cast or word in ("zeros", "zeros_like"):  # nothing becomes of 0
            continue
        if text[b:b + 1] in "<" and re.match(r"<[\w:, ]+>\(", text[b:b + 60]) is None and not re.match(r"< ", text[b:]):
            continue
        whole = chain_end(source, b)
        if not cast and whole != b and re.match(rf"\.(?:{TENSOR_METHODS})\(", text[b:b + 14]):
            yield a, b
        if text[b:b + 1] == "{" or whole <= a:
            continue
        yield a, whole
    for m in re.compile(r"\bif \(|\bwhile \(").finditer(text, begin, end):
        inner = text[m.end():source.end(m.end() - 1) - 1]
        if not source.skips(m.start()) and ";" not in inner and " = " not in inner:
            yield m.end(), source.end(m.end() - 1) - 1
    for m in re.compile(r"\breturn (?=[^;{}]*;)").finditer(text, begin, end):
        if not source.skips(m.start()):
            yield m.end(), text.find(";", m.end())


def sites(text, whole=False):
    """The spans of all sites, in the order of the text."""
    source, found = Source(text), set()
    for begin, end in regions(source, whole):
        for a, b in expressions(source, begin, end):
            if b > a and b <= end and text[a:b].strip() and not source.skips(a) and may_stand(source, a, b):
                if text[a:b].count("(") == text[a:b].count(")") and "{" not in text[a:b].split("(")[0]:
                    found.add((a, b))
    return sorted(found, key=lambda s: (s[0], -s[1]))


def mutated(text, spans, dropped, header):
    """The copy, and for each of its lines the innermost site that it belongs to (-1: none)."""
    edits = []
    for n, (a, b) in enumerate(spans):
        if n not in dropped:
            edits += [(a, 1, -b, f"\n::tapegrad::mutants::mutant<{n}>(", n), (b, 0, -a, "\n)", n)]
    pieces, at, owners, stack = [f'#include "{header}"\n'], 0, [-1, -1], []
    for where, opens, _, what, n in sorted(edits):
        pieces += [text[at:where], what]
        owners += [stack[-1] if stack else -1] * text.count("\n", at, where)
        if opens:
            stack.append(n)
            owners.append(n)
        else:
            owners.append(n)
            stack.pop()
        at = where
    pieces.append(text[at:])
    owners += [-1] * (text.count("\n", at) + 1)
    return "".join(pieces), owners

"""Doxygen's input filter: makes the house's headers and pages readable to it, without a change of them.

    python3 docs/filter.py TOP FILE.md  prints the page of the project in TOP with
    - an anchor at each heading, and links to headings and pages that lead there,
    - pictures by their names, which Doxygen finds in the folders of IMAGE_PATH,
    - the bare text of links to files that are not pages.

    python3 docs/filter.py TOP FILE.h   prints the header with
    - the sentences at its top as the description of the file,
    - comments after members, and `//` before a declaration, as documentation,
    - indented lines of comments as code,
    - the comment of a group of declarations (no blank line between them) before each of them,
    - a reference to the class before what its description covers: constructors, operator(), visit, begin and end,
    - the function that takes them before options without a comment,
    - protected members as private ones, which have no page.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests/comments"))
import blocks

COMMENT = re.compile(r"^\s*//(?!/|\s*---|\s*NOLINT|\s*clang-format)\s?(.*)$")
DOC = re.compile(r"^\s*///")
AFTER_MEMBER = re.compile(r"^(\s*[\w:].*[;,{}]|\s*\w+,?)\s+//(?:/<)?(?![/!])\s*(?!NOLINT)(\S.*)$")
OPENING = re.compile(r"^\s*(template\b.*>\s*)?(struct|class|enum class|enum|namespace|union)\b")
MEMBER = re.compile(r"^\s*(?!using\b|typedef\b|friend\b|return\b|template\b|struct\b|class\b|enum\b)[\w:]+[\w:<>,\s*&()]*\s\w+\s*[,=]")
COVERED = r"operator\(\)|void visit\(|operator=|operator==|\boverride\b|\b(?:begin|end|size|empty|defined|walk)\(" \
          r"|operator\*\(\)|operator->|operator bool|operator const|operator[-+*/]="  # by the description of the class


def escaped(text):
    """A comment's text without what Doxygen would take for commands and tags, but for code in `...`."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\<>@#&])", r"\\\1", parts[i])
    return "`".join(parts)


CODE = "\0"  # marks lines of code in comments


def with_code(lines):
    """The lines of a header, those of the blocks of code in its comments marked, and a command of Doxygen before and after each."""
    first = {number - 1: number - 2 + len(text.splitlines()) for number, text in blocks.blocks("\n".join(lines))}
    out, last = [], -1
    for i, line in enumerate(lines):
        last = first.get(i, last)
        if i > last:
            out.append(line)
            continue
        indent, text = re.match(r"^(\s*)///?(.*)$", line).groups()
        before = [f"{indent}///{CODE} \\code{{.cpp}}"] if i in first else []
        after = [f"{indent}///{CODE} \\endcode"] if i == last else []
        out += [*before, f"{indent}///{CODE}{text}", *after]
    return out


def documentation(line):
    """The line of a comment, as documentation."""
    indent, text = re.match(r"^(\s*)///?<?(.*)$", line).groups()
    return f"{indent}///{text[1:] if text.startswith(CODE) else escaped(text)}"


def parts_of(text):
    """`text` at the commas outside of brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for c in text:
        quoted ^= c == '"'
        depth += 0 if quoted else (c in "({[<") - (c in ")}]>")
        if c == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def separated(code, text):
    """Members of one declaration, `int a = 0, b;`, as declarations of their own, each with the comment; None for others."""
    code = re.sub(r"\s+", " ", code.strip())
    if not code.endswith(";") or not MEMBER.match(code):
        return None
    parts = parts_of(code[:-1])
    first = re.match(r"^(.*?[\s*&])(\w+(?: ?=.*)?)$", parts[0].split("=")[0].strip())
    if len(parts) < 2 or not first or not all(re.match(r"\w+( ?=.*| ?\{.*)?$", part) for part in parts[1:]):
        return None
    kind = first.group(1)
    names = [parts[0][len(kind):]] + parts[1:]
    return " ".join(f"/** {text} */ {kind}{name};" if text else f"{kind}{name};" for name in names)


def is_declaration(line):
    text = line.strip()
    return bool(text) and not text.startswith(("//", "#", "}", "{", "public:", "private:", "protected:", ":", "requires"))


class Header:
    """Walks through the lines of a header; `out` is what Doxygen is given."""

    def __init__(self, lines):
        self.lines = with_code(lines)
        self.out = []
        self.doc = []        # the comment of the group of declarations
        self.fresh = False   # it has just been printed
        self.depth = 0       # open parentheses of a declaration that continues
        self.body = None     # the braces that are open where a function's body began

    def run(self):
        i = self.top()
        braces = 0
        classes = []  # (name, braces before it)
        while i < len(self.lines):
            line = self.lines[i]
            starts = self.depth == 0 and self.body is None
            if not line.strip():
                self.doc, self.fresh = [], False
                self.out.append(line)
                i += 1
                continue
            if starts and (DOC.match(line) or COMMENT.match(line)):
                if not self.fresh:
                    self.doc = []
                text = documentation(line)
                self.doc.append(text)
                self.fresh = True
                self.out.append(text)
                i += 1
                continue
            if starts and is_declaration(line):
                several = self.members(i)
                if several:
                    i += several
                    self.fresh = False
                    continue
                self.describe(i, classes)
            name = re.match(r"^\s*(?:template\b.*>\s*)?(?:struct|class)\s+(?:\[\[\w+\]\]\s*)?(\w+)[^;]*$", line)
            code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', '""', line.split("//")[0])
            if name and starts:
                classes.append((name.group(1), braces))
            after = AFTER_MEMBER.match(line)
            if after and self.body is None and re.match(r"^\s*enum\b.*}", line):
                line = f"/** {escaped(after.group(2))} */ {after.group(1).strip()}"
            elif after and self.body is None:
                line = f"{after.group(1)}  ///< {escaped(after.group(2))}"
            both = re.match(r"^(\s*enum class (\w+) \{[^}]*\}) (\w+ = [^;]*;)$", line)
            if both and self.doc:  # a type and its member
                text = " ".join(re.sub(r"^\s*/// ?", "", doc) for doc in self.doc)
                line = f"{both.group(1)}; /** {text} */ {both.group(2)} {both.group(3)}"
            line = re.sub(r"^(\s*)protected:", r"\1private:", line)
            self.out.append(line)
            self.depth += code.count("(") - code.count(")")
            before = braces
            braces += code.count("{") - code.count("}")
            inside = self.body is not None
            opens = bool(OPENING.match(line)) or (classes and classes[-1][1] == before and name)
            if self.body is None and braces > before and not opens:
                self.body = before
            elif self.body is not None and braces <= self.body:
                self.body = None
            while classes and braces <= classes[-1][1] and "}" in code:
                classes.pop()
            if opens or "}" in code and braces < before and not inside:
                self.doc = []
            if self.depth == 0 and (";" in code or "}" in code or "{" in code):
                self.fresh = False
            i += 1
        return "\n".join(self.out) + "\n"

    def top(self):
        """The first comment describes the file."""
        i = 0
        while i < len(self.lines) and self.lines[i].startswith("//"):
            text = documentation(self.lines[i])
            self.out.append(f"/// \\file\n{text}" if i == 0 else text)
            i += 1
        return i

    def members(self, i):
        """Prints the several members that the declaration in line i has, one by one; returns how many lines it takes, or 0."""
        code, text, count = "", [], 0
        for line in self.lines[i:i + 4]:
            before, _, comment = line.partition("//")
            code += before
            count += 1
            if comment:
                text.append(escaped(comment.lstrip("/<").strip()))
            if not before.rstrip().endswith(","):
                break
        if not text:
            text = [re.sub(r"^\s*/// ?", "", line) for line in self.doc]
        found = separated(code, " ".join(text))
        if not found:
            return 0
        if self.fresh:  # its comment was printed, for the first of them
            found = found.replace(f"/** {' '.join(text)} */ ", "", 1)
        self.out.append(found)
        self.out.extend([""] * (count - 1))
        return count

    def describe(self, i, classes):
        """A comment before a declaration that has none of its own: that of its group, or a reference to its class."""
        line = self.lines[i]
        if self.fresh or "///<" in line or AFTER_MEMBER.match(line):
            return
        text = self.declaration(i)
        options = re.match(r"^\s*struct (\w+)Options\b", line)
        found = self.doc
        if not found and options:
            found = [f"/// Options of {self.taker(options.group(1))}."]
        elif not found and re.search(r"= delete;", text):
            found = ["/// Deleted."]
        elif not found and classes and re.search(rf"\b{classes[-1][0]}\(|{COVERED}", text):
            found = [f"/// See {classes[-1][0]}."]
        self.out.extend(found)
        self.fresh = bool(found)  # a template's declaration continues in the next line

    def declaration(self, i):
        """The declaration that starts in line i: with `template` and `requires`, to the line with its name."""
        text = ""
        for line in self.lines[i:i + 5]:
            text += line
            if re.search(r"[;{]", line) or not re.match(r"^\s*(template|requires)\b", line):
                break
        return text

    def taker(self, name):
        """The first function of the header that takes `name`Options, or the class of that name."""
        taken = re.search(rf"\b(\w+)\((?:[^;{{}}]|= {{}})*?\b{name}Options\b", "\n".join(self.lines))
        return taken.group(1) if taken and taken.group(1) != "requires" else name


def anchor(top, path, heading=""):
    """What Doxygen calls a heading of a page."""
    name = re.sub(r"[^\w]", "_", str(path.relative_to(top).with_suffix("")))
    slug = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-")
    return f"{name}--{slug}" if slug else f"page-{name}"


def one_line(match):
    """A link whose words are on two lines, on one; a block of code as it is."""
    return match.group(0) if match.group(0).startswith("```") else re.sub(r"\n\s*", " ", match.group(0))


def page(top, path, text):
    """A page with anchors and links that Doxygen resolves; blocks of code unchanged."""
    out, fenced, first = [], False, True
    text = re.sub(r"^```.*?^```$|\[[^\]\[\n]*\n[^\]\[\n]*\]\([^)\s]+\)", one_line, text, flags=re.S | re.M)

    def link(match):
        words, target = match.groups()
        if re.match(r"[a-z]+:", target):
            return match.group(0)
        file, _, heading = target.partition("#")
        to = (path.parent / file).resolve() if file else path
        if to.suffix != ".md" or not to.is_relative_to(top):
            return words
        return f"[{words}](#{anchor(top, to, heading.replace('-', ' '))})"

    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        heading = re.match(r"^(#+) (.*)$", line)
        if heading and not fenced:
            line = f"{line} {{#{anchor(top, path, '' if first else heading.group(2))}}}"
            first = False
        elif not fenced:
            line = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", link, line)
            line = re.sub(r"!\[([^\]]*)\]\((?:[^)\s:]*/)?([^)\s/]+)\)", r"![\1](\2)", line)
        out.append(line)
    return "\n".join(out)


def main():
    top, path = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    text = path.read_text(encoding="utf-8")
    sys.stdout.write(page(top, path, text) if path.suffix == ".md" else Header(text.split("\n")).run())


if __name__ == "__main__":
    main()

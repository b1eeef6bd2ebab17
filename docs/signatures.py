"""Adds headers and signatures to the tables of docs/from_pytorch.md, from the XML that Doxygen made of the headers.

    python3 docs/signatures.py TOP XML HTML  writes HTML/from_pytorch.html: each row of a table has two more columns, the headers to
    include and the declarations of the names of tapegrad in that row, with links to the reference in HTML. Fails with a list of the
    names that no public header declares.
"""
import html
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

FLAT = ("autograd", "nn", "optim", "train/data")  # flat_folders of cmake/headers.cmake
SCOPES = ("", "autograd::", "nn::", "data::", "dist::", "optim::")
STYLE = """body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 100em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; width: 100%; } th, td { border: 1px solid #ccc; padding: .3em .5em; text-align: left;
  vertical-align: top; }
code { font-size: 13px; } td code { overflow-wrap: anywhere; } pre { background: #f5f5f5; padding: .7em; overflow-x: auto; }
.signature { display: block; padding-left: 1.5em; text-indent: -1.5em; } th { background: #f0f0f0; position: sticky; top: 0; }"""


def included_as(path):
    """How a header of the sources is included: <tapegrad/nn/linear.h> for nn/layers/linear.h."""
    for folder in FLAT:
        if path.startswith(folder + "/") and not path.startswith("autograd/io/"):
            return f"<tapegrad/{folder}/{path.rsplit('/', 1)[1]}>"
    return f"<tapegrad/{path}>"


def text_of(element):
    """The text of an element and its links, with C++'s usual spaces."""
    text = "" if element is None else " ".join("".join(element.itertext()).split())
    text = re.sub(r"\s+([>&*,)])", r"\1", re.sub(r"([<(])\s+", r"\1", text))
    return re.sub(r"([&*])(?=\w)", r"\1 ", text)


class Declaration:
    """One declaration: how it is written, where it stands, and its place in the reference."""

    def __init__(self, signature, header, link):
        self.signature, self.header, self.link = signature, header, link


def place(identity):
    """The file and anchor of a member of that id."""
    file, anchor = re.match(r"(.*)_1(a[0-9a-f]{32}(?:a[0-9a-f]{32})?)$", identity).groups()
    return f"{file}.html#{anchor}"


def signature_of(member):
    """A declaration in one line, without what is only for the compiler."""
    kind, name = member.get("kind"), member.findtext("name")
    if kind == "enum":
        return f"enum class {name} {{ {', '.join(value.findtext('name') for value in member.findall('enumvalue'))} }}"
    arguments = text_of(member.find("argsstring")) if kind == "function" else ""
    type_of = text_of(member.find("type"))
    if kind == "typedef":
        return f"using {name} = {type_of}"
    initial = text_of(member.find("initializer")) if kind == "variable" else ""
    parameters = member.find("templateparamlist")
    template = ""
    if parameters is not None:
        each = (f"{text_of(p.find('type'))} {p.findtext('declname') or ''}".strip() for p in parameters.findall("param"))
        template = f"template <{', '.join(each)}> "
    return re.sub(r"< ", "<", f"{template}{type_of} {name}{arguments}{' ' + initial if initial else ''}".strip().replace("  ", " "))


def declarations(top, folder):
    """Every public declaration of the XML in `folder`, by its full name without tapegrad::."""
    found = {}

    def add(name, declaration):
        known = found.setdefault(name.removeprefix("tapegrad::"), [])
        if all(declaration.signature != other.signature for other in known):
            known.append(declaration)

    def header_of(element):
        path = pathlib.Path(element.find("location").get("file"))
        return included_as(str(path.relative_to(top) if path.is_absolute() else path))

    for file in sorted(folder.glob("*.xml")):
        if not file.name.startswith(("namespace", "class", "struct", "concept")):
            continue
        compound = ElementTree.parse(file).getroot().find("compounddef")
        name = compound.findtext("compoundname")
        if not name.startswith("tapegrad"):
            continue
        kind, constructors = compound.get("kind"), []
        for member in compound.iter("memberdef"):
            if member.get("prot") != "public":
                continue
            one = Declaration(signature_of(member), header_of(member), place(member.get("id")))
            add(f"{name}::{member.findtext('name')}", one)
            for value in member.findall("enumvalue"):
                add(f"{name}::{member.findtext('name')}::{value.findtext('name')}", one)
            if kind != "namespace" and member.findtext("name") == name.rsplit("::", 1)[1]:
                constructors.append(one)
        if kind != "namespace":
            plain = Declaration(f"{kind} {name.rsplit('::', 1)[1]}", header_of(compound), f"{compound.get('id')}.html")
            usable = [one for one in constructors if not re.search(r"= ?delete|= ?default", one.signature)]
            for one in usable or [plain]:
                add(name, one)
    return found


def declared(found, name):
    """The declarations that a name of the page has; a name of the page may leave out its namespace."""
    for scope in SCOPES:
        if scope + name in found:
            return found[scope + name]
    owner, _, member = name.rpartition("::")
    for base in BASES.get(owner, ()):  # inherited
        if f"{base}::{member}" in found:
            return found[f"{base}::{member}"]
    return []


BASES = {}


def read_bases(folder):
    """The bases of each class, without namespaces."""
    for file in sorted(folder.glob("*.xml")):
        if file.name.startswith(("class", "struct")):
            compound = ElementTree.parse(file).getroot().find("compounddef")
            own = compound.findtext("compoundname").removeprefix("tapegrad::")
            bases = [text_of(base).removeprefix("tapegrad::") for base in compound.findall("basecompoundref")]
            BASES[own] = BASES[own.rsplit("::", 1)[-1]] = bases


def words(text):
    """A line of Markdown as HTML: code, emphasis, links to other sites."""
    parts = text.replace("\\|", "|").split("`")
    for i, part in enumerate(parts):
        part = html.escape(part)
        if i % 2 == 0:
            part = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", part)
            part = re.sub(r"\[([^\]]*)\]\((https?:[^)]*)\)", r'<a href="\2">\1</a>', part)
            part = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", part)
        parts[i] = f"<code>{part}</code>" if i % 2 else part
    return "".join(parts)


def row(cells, here, found, missing):
    """A row of a table with its two more columns. `here`: the column of the names of tapegrad."""
    names = [] if cells[here] == "not here" else re.findall(r"`([^`]+)`", cells[here])
    headers, signatures = [], []
    for name in names:
        matches = declared(found, name)
        if not matches:
            missing.append(name)
        for one in matches:
            if one.header not in headers:
                headers.append(one.header)
            signatures.append(f'<a class="signature" href="{one.link}"><code>{html.escape(one.signature)}</code></a>')
    shown = [words(cell) for cell in cells]
    shown.append("<br>".join(f"<code>{html.escape(header)}</code>" for header in headers))
    shown.append("".join(signatures))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in shown) + "</tr>"


def page(text, found):
    """The page, and the names of it that are not declared."""
    out, missing, here, fenced, paragraph = [], [], None, False, []

    def end_paragraph():
        if paragraph:
            out.append(f"<p>{words(' '.join(paragraph))}</p>")
            paragraph.clear()

    for line in text.split("\n"):
        if here is not None and not line.startswith("|"):
            out.append("</table>")
            here = None
        if line.startswith("```"):
            end_paragraph()
            fenced = not fenced
            out.append("<pre>" if fenced else "</pre>")
        elif fenced:
            out.append(html.escape(line))
        elif line.startswith("|"):
            end_paragraph()
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if "here" in cells and here is None:
                here = cells.index("here")
                heads = cells + ["header", "signature"]
                out.append("<table><tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>")
            elif not line.startswith("|--"):
                out.append(row(cells, here, found, missing))
        elif heading := re.match(r"(#+) (.*)", line):
            end_paragraph()
            level = len(heading.group(1))
            out.append(f"<h{level}>{words(heading.group(2))}</h{level}>")
        elif line.startswith("- ") or not line.strip():
            end_paragraph()
            if line.strip():
                paragraph.append("• " + line[2:])
        else:
            paragraph.append(line.strip())
    end_paragraph()
    body = "\n".join(out)
    return f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>From PyTorch</title>\n<style>\n{STYLE}\n</style>\n{body}\n', missing


def main():
    top, xml, target = (pathlib.Path(name).resolve() for name in sys.argv[1:4])
    read_bases(xml)
    text, missing = page((top / "docs/from_pytorch.md").read_text(encoding="utf-8"), declarations(top, xml))
    (target / "from_pytorch.html").write_text(text, encoding="utf-8")
    if missing:
        sys.exit(f"docs/from_pytorch.md has names that no public header declares: {', '.join(missing)}")


if __name__ == "__main__":
    main()

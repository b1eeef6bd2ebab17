#!/usr/bin/env python3
"""Makes a site of the pages of docs/ with Debian's mkdocs: search, navigation, and the reference of Doxygen if it was built.

    python3 docs/site.py TOP OUT [REFERENCE]   writes OUT/site, to open in a browser from any folder; REFERENCE is Doxygen's html

Pages are copied to OUT/pages. Files of the sources that they link become pages or texts below OUT/pages/sources. Fails for a warning of
mkdocs, for a link in the site that leads nowhere, and if one of QUERIES does not find its page first (needs node, or is skipped).
"""
import html.parser
import json
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import unittest

QUERIES = {"reproducible": "reproducibility", "gradient checkpointing": "speed", "KV cache": "models", "weight decay groups": "howto",
           "ImageFolder": "data", "state_dict": "files", "clip gradients": "howto", "resume": "training"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def place(path):
    """Where a file of the sources is among the pages: docs/a.md is a.md, the others are below sources/, as text unless they are pages."""
    if path.startswith("docs/"):
        return path[len("docs/"):]
    return "sources/" + (path if path.endswith(".md") else path + ".txt")


def relinked(text, path, is_file, linked):
    """A page with the links that it has among the pages, without those to folders. `linked` gets what they lead to."""
    def link(match):
        picture, words, target, anchor = match.group(1), match.group(2), match.group(3), match.group(4) or ""
        if "://" in target or not target:
            return match.group(0)
        full = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if not is_file(full):
            return words
        linked.add(full)
        return f"{picture}[{words}]({posixpath.relpath(place(full), posixpath.dirname(place(path)) or '.')}{anchor})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.S | re.M)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def spaced(text):
    """Markdown as mkdocs reads it: an empty line before a list, and four blanks before what continues an item of one."""
    lines, before, code = [], "", False
    for line in text.split("\n"):
        if line.startswith("```"):
            code = not code
        item = re.match(r" *([-*]|[0-9]+\.) ", line)
        if not code and item and before and not re.match(r" *([-*]|[0-9]+\.) | ", before):
            lines.append("")
        indent = len(line) - len(line.lstrip(" "))
        lines.append(line if code or indent == 0 else " " * (4 * ((indent + 3) // 4) - indent) + line)
        before = line
    return "\n".join(lines)


def stage(top, pages):
    """Copies docs/ and, again and again, what pages link."""
    shutil.rmtree(pages, ignore_errors=True)
    waiting = {str(path.relative_to(top)) for kind in ("*.md", "contributing/*.md", "site.css") for path in (top / "docs").glob(kind)}
    done = set()
    while waiting - done:
        for path in sorted(waiting - done):
            done.add(path)
            target = pages / place(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.endswith(".md"):
                text = (top / path).read_text(encoding="utf-8")
                target.write_text(spaced(relinked(text, path, lambda full: (top / full).is_file(), waiting)), encoding="utf-8")
            else:
                shutil.copyfile(top / path, target)
    if shutil.which("pygmentize"):  # of the Pygments that mkdocs uses; otherwise code has one colour
        with open(pages / "site.css", "a", encoding="utf-8") as css:
            subprocess.run(["pygmentize", "-S", "default", "-f", "html", "-a", ".codehilite"], stdout=css, check=True)


class Links(html.parser.HTMLParser):
    """What a page of the site links, and where it can be linked."""

    def __init__(self):
        super().__init__()
        self.links, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)


def lost_links(site):
    """Links of pages to files or anchors that are not there, and to other machines for what a page needs."""
    found = {}
    for path in site.rglob("*.html"):
        if "reference" not in path.relative_to(site).parts:
            found[path] = Links()
            found[path].feed(path.read_text(encoding="utf-8"))
    lost = []
    for path, page in found.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", target) or (path.name == "404.html") or target.startswith("/"):
                continue
            file = (path.parent / target).resolve() if target else path
            file = file if target != "." else path.parent / "index.html"
            if not file.exists() or (anchor and file in found and anchor not in found[file].anchors):
                lost.append(f"{path.relative_to(site)} -> {link}")
    return lost


def there(script, path):
    """The tag of a script, if the site has it: Debian's theme names another jQuery than the one that it has, and one script too many."""
    file = path.parent / script.group(1)
    if file.exists() or path.name == "404.html":
        return script.group(0)
    other = next(iter(file.parent.glob("jquery*.js")), None) if file.name.startswith("jquery") else None
    return script.group(0).replace(file.name, other.name) if other else ""


def finish(site, top, reference):
    """Makes the search work without a server, and adds the reference."""
    folder = site / "search"
    index = json.loads((folder / "search_index.json").read_text(encoding="utf-8"))
    index["docs"] = [entry for entry in index["docs"] if not entry["location"].startswith("sources/")]
    (folder / "search_index.json").write_text(json.dumps(index), encoding="utf-8")
    (folder / "search_index.js").write_text("window.searchIndex = " + json.dumps(index) + ";\n", encoding="utf-8")
    shutil.copyfile(top / "docs/search.js", folder / "search.js")
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        scripts = r'<script src="([^"]*)search/main\.js"( defer)?></script>'
        if path.name == "search.html":
            names = ("lunr.js", "search_index.js", "search.js")
            text = re.sub(scripts, lambda m: "".join(f'<script src="{m.group(1)}search/{name}"></script>' for name in names), text)
        text = re.sub(scripts, "", text)
        path.write_text(re.sub(r'<script src="([^"]*)"( defer)?></script>', lambda m: there(m, path), text), encoding="utf-8")
    if reference and reference.is_dir():
        shutil.copytree(reference, site / "reference")
        for path in site.glob("*.html"):
            text = path.read_text(encoding="utf-8")
            entry = '<p class="caption"><span class="caption-text"><a href="reference/index.html">Reference of all declarations</a></span></p>'
            path.write_text(text.replace('<p class="caption"', entry + '<p class="caption"', 1), encoding="utf-8")


def first_pages(site):
    """The first page for each of QUERIES, as the site's own search finds it."""
    program = """const search = require(process.argv[1] + "/search.js"), lunr = require(process.argv[1] + "/lunr.js");
const documents = JSON.parse(require("fs").readFileSync(process.argv[1] + "/search_index.json")).docs, index = search.makeIndex(lunr, documents);
for (const query of JSON.parse(process.argv[2])) console.log((search.find(lunr, index, documents, query)[0] || {location: ""}).location);"""
    run = subprocess.run(["node", "-e", program, str(site / "search"), json.dumps(list(QUERIES))], stdout=subprocess.PIPE, text=True, check=True)
    return dict(zip(QUERIES, run.stdout.split("\n")))


class SiteTest(unittest.TestCase):
    def test_links_follow_the_pages(self):
        linked = set()
        text = "[a](b.md#c) ![p](p.svg) [x](../x.cpp) [d](../folder) [n](#n) [w](https://w)\n```\n[k](../x.cpp)\n```\n"
        made = relinked(text, "docs/a.md", lambda path: path != "folder", linked)
        self.assertEqual(made, "[a](b.md#c) ![p](p.svg) [x](sources/x.cpp.txt) d [n](#n) [w](https://w)\n```\n[k](../x.cpp)\n```\n")
        self.assertEqual(linked, {"docs/b.md", "docs/p.svg", "x.cpp"})
        self.assertEqual(relinked("[a](../docs/a.md)", "nn/README.md", lambda path: True, set()), "[a](../../a.md)")

    def test_lists_are_those_of_mkdocs(self):
        self.assertEqual(spaced("text:\n- a\n  b\n- c\n```\n- d\n```"), "text:\n\n- a\n    b\n- c\n```\n- d\n```")


def main():
    if not unittest.TextTestRunner(open("/dev/null", "w", encoding="utf-8")).run(
            unittest.defaultTestLoader.loadTestsFromTestCase(SiteTest)).wasSuccessful():
        return "site.py fails its own tests: python3 -m unittest docs/site.py"
    top, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    stage(top, out / "pages")
    config = (top / "docs/mkdocs.yml").read_text(encoding="utf-8")
    (out / "mkdocs.yml").write_text(f"{config}docs_dir: pages\nsite_dir: site\n", encoding="utf-8")
    if subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--clean", "-f", str(out / "mkdocs.yml")], check=False).returncode != 0:
        return "mkdocs warns of a page"
    finish(out / "site", top, pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None)
    faults = lost_links(out / "site")
    if shutil.which("node"):
        for query, page in first_pages(out / "site").items():
            if page.split("#")[0] != QUERIES[query] + ".html":
                faults.append(f'the search for "{query}" finds {page or "nothing"} first, instead of {QUERIES[query]}.html')
    else:
        print("the search was not tried: node is not installed")
    print(f"{out}/site/index.html")
    return "\n".join(faults) or 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The blocks of code in the comments of the public headers and in the pages of docs/, for the tests of this folder and
programs of examples/documents, which compile and run them.

    python3 tests/comments/blocks.py TOP FOLDER                 writes FOLDER/nn/module/module_1.inc and so on, and FOLDER/blocks.h
    python3 tests/comments/blocks.py TOP --compiler COMPILER    fails if a block of a header is in no test of this folder

A block is lines of a comment that are indented by three or more blanks, but for those that continue an item of a list, and those
between ```text and ```. In a page, it is what ```cpp begins. A test has it as `#include "comments/nn/module/module_1.inc"`, in a function or, for declarations, in a namespace; 1 is the number of the block in
its header."""
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

FLOORS = ["autograd", "nn", "optim", "distributed", "train", "train/data", "train/drawing"]
PAGES = "docs/*.md"
PRIVATE = {"detail", "internal", "kernels"}
FENCE = re.compile(r"^```cpp\n(.*?)^```", re.M | re.S)
COMMENT = re.compile(r"^\s*///?(?![/<])(.*)$")
ITEM = re.compile(r"^ {0,2}[-*] ")
USE = re.compile(r'^ *#include "comments/([\w/]+)\.inc"', re.M)


def blocks(text):
    """The blocks of a header: of each the number of its first line, and its lines."""
    found, block, item, fence = [], None, False, False
    for number, line in enumerate(text.split("\n"), 1):
        comment = COMMENT.match(line)
        words = comment.group(1).rstrip() if comment else None
        if words is None or words.strip().startswith("```"):
            block, item, fence = None, False, words is not None and not fence
        elif fence:
            continue
        elif ITEM.match(words):
            block, item = None, True
        elif words.startswith("   ") and not item:
            if block is None:
                block = (number, [])
                found.append(block)
            block[1].append(words)
        elif words == "" and block:
            block[1].append(words)
        else:
            block = None
            item = item and words.startswith("  ")
    return [(number, textwrap.dedent("\n".join(lines)).rstrip("\n") + "\n") for number, lines in found]


def blocks_of_page(text):
    return [(text.count("\n", 0, found.start(1)) + 1, found.group(1)) for found in FENCE.finditer(text)]


def all_blocks(top, pages=PAGES):
    """The blocks by name."""
    named = {}

    def add(path, found):
        for i, (number, lines) in enumerate(found, 1):
            named[f"{path.relative_to(top).with_suffix('')}_{i}"] = (path, number, lines)

    for page in sorted(top.glob(pages)):
        add(page, blocks_of_page(page.read_text(encoding="utf-8")))
    for floor in FLOORS:
        for path in sorted((top / floor).rglob("*.h")):
            if PRIVATE.isdisjoint(path.relative_to(top).parts):
                add(path, blocks(path.read_text(encoding="utf-8")))
    return named


def used(tests):
    return {name for text in tests for name in USE.findall(text)}


def unused(named, tests):
    """Blocks of headers that no test includes. Those of pages may be included by programs, or lines of them, instead (tests/house/documents.cpp)."""
    return [f"{path}:{number}: expected a test in tests/comments that includes this block, {name}.inc"
            for name, (path, number, _) in sorted(named.items()) if path.suffix == ".h" and name not in used(tests)]


def write(named, folder):
    """Writes the blocks, each with its place in the header, for messages of the compiler, and a header that changes with any of them,
    so that the tests are compiled again. Equal files are left as they are."""
    files = {f"{name}.inc": f'#line {number} "{path}"\n{lines}' for name, (path, number, lines) in named.items()}
    files["blocks.h"] = f"// {hashlib.sha256(repr(files).encode()).hexdigest()}\n"
    for name, text in files.items():
        target = folder / name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


class BlocksTest(unittest.TestCase):
    HEADER = ("// Opening words:\n//\n//   int x = 1;\n//\n//   f(x);\n#pragma once\n\n/// A function:\n///     g(\n///       x);\n/// - an item\n"
              "///   which continues\n/// and ends.\n///   h();\n/// ```text\n///     a table\n/// ```\n///\nvoid g();  // note\n  ///< after a member\n")

    def test_indented_lines_are_blocks(self):
        self.assertEqual(blocks(self.HEADER), [(3, "int x = 1;\n\nf(x);\n"), (9, "g(\n  x);\n"), (14, "h();\n")])

    def test_uses(self):
        self.assertEqual(used(['  #include "comments/nn/a_1.inc"\n// #include "comments/nn/b_1.inc"\n', '#include "comments/c_2.inc"\n']),
                         {"nn/a_1", "c_2"})


    compiler = "c++"

    def test_a_block_that_nothing_runs_or_that_does_not_compile_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            top, to = pathlib.Path(folder), pathlib.Path(folder) / "made/comments"
            (top / "nn").mkdir()
            (top / "nn/a.h").write_text("/// Call it so:\n///\n///   int x = f(1);\n///\n/// or\n///\n///   int y = f(;\nint f(int x);\n")
            (top / "a.md").write_text("Call it so:\n```cpp\nint z = f(2);\n```\n```text\n3\n```\n")
            named = all_blocks(top, "a.md")
            self.assertEqual([place.split(": ")[0] for place in unused(named, ['#include "comments/nn/a_1.inc"'])],
                             [f"{top}/nn/a.h:7"])
            write(named, to)
            for name, message in [("a_1", ""), ("nn/a_1", ""), ("nn/a_2", f"{top}/nn/a.h:7:")]:
                test = f'int f(int);\nvoid test() {{\n#include "comments/{name}.inc"\n}}\n'
                run = subprocess.run([self.compiler, "-fsyntax-only", "-I", str(to.parent), "-x", "c++", "-"], input=test, text=True,
                                     stderr=subprocess.PIPE, check=False)
                self.assertEqual((run.returncode != 0, message in run.stderr), (message != "", True))


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    named = all_blocks(top)
    if sys.argv[2] != "--compiler":
        write(named, pathlib.Path(sys.argv[2]))
        return 0
    BlocksTest.compiler = sys.argv[3]
    run = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(BlocksTest))
    if not run.wasSuccessful():
        return "blocks.py fails its own tests"
    tests = [path.read_text(encoding="utf-8") for path in (top / "tests/comments").glob("*.cpp")]
    return "\n".join(unused(named, tests)) or 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs the ```python blocks of a page, one after the other, in a folder that has the files which they read.

    python3 tests/house/python_blocks.py PAGE FOLDER

A block must print its lines that begin with "#> ". One that imports a module which is not installed is left out, and so are the
blocks after it that use its names; with none left the exit code is 77, which ctest reports as skipped."""
import contextlib
import io
import os
import re
import sys
import unittest

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
SKIPPED = 77


def expected(block):
    return "".join(line[3:] + "\n" for line in block.split("\n") if line.startswith("#> "))


def run(text):
    """Runs the blocks of `text`. Returns how many ran, the modules that are missing, and the faults."""
    names, ran, missing, faults = {}, 0, [], []
    for number, match in enumerate(BLOCK.finditer(text), 1):
        block, printed = match.group(1), io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(block, f"block {number}", "exec"), names)
        except ModuleNotFoundError as error:
            missing.append(error.name)
            continue
        except NameError as error:
            if not missing:
                faults.append(f"block {number}: {error}")
            continue
        except Exception as error:  # of any kind: the other blocks are checked, too
            faults.append(f"block {number}: {type(error).__name__}: {error}")
            continue
        ran += 1
        if printed.getvalue() != expected(block):
            faults.append(f"block {number} printed\n{printed.getvalue()}instead of\n{expected(block)}")
    return ran, missing, faults


class RunTest(unittest.TestCase):
    def page(self, *blocks):
        return "".join(f"```python\n{block}\n```\n" for block in blocks)

    def test_what_is_printed_is_compared(self):
        self.assertEqual(run(self.page("x = 1\nprint(x)\n#> 1", "print(x + 1)\n#> 2")), (2, [], []))
        self.assertEqual(run(self.page("print(1)\n#> 2"))[2], ["block 1 printed\n1\ninstead of\n2\n"])
        self.assertEqual(len(run(self.page("print(1)"))[2]), 1)

    def test_faults_are_found(self):
        self.assertEqual(run(self.page("print(x)", "1 / 0"))[2],
                         ["block 1: name 'x' is not defined", "block 2: ZeroDivisionError: division by zero"])

    def test_missing_modules_are_no_faults(self):
        self.assertEqual(run(self.page("import no_such_module\ny = 1", "print(y)\n#> 1", "print(2)\n#> 2")),
                         (1, ["no_such_module"], []))


def main():
    if not unittest.TextTestRunner(io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(RunTest)).wasSuccessful():
        return "python_blocks.py fails its own tests: python3 -m unittest tests/house/python_blocks.py"
    with open(sys.argv[1], encoding="utf-8") as page:
        text = page.read()
    os.chdir(sys.argv[2])
    ran, missing, faults = run(text)
    for name in missing:
        print(f"left out: this Python has no module {name}")
    print(f"{ran} blocks of {sys.argv[1]}")
    if faults:
        return "\n".join(faults)
    if ran == 0 and not missing:
        return f"{sys.argv[1]} has no python block"
    return SKIPPED if ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

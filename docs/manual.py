#!/usr/bin/env python3
"""Makes the pages of docs/manual, one per verb of the command, from its man page, which the command makes from its settings.

    docs/manual.py build/release/tapegrad           writes docs/manual/VERB.md
    docs/manual.py build/release/tapegrad --check   fails if a page there is another one
"""
import io
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import unittest

NOTE = "<!-- made by docs/manual.py from what `tapegrad manual` prints: change the option, not this page -->"
BACK = "More examples: [the command](../guides/command.md)."
INDEX = ("The verbs of the command with all options and their defaults, as `tapegrad help VERB TASK` and `man tapegrad` show them.\n"
         "[The command](../guides/command.md) has examples, and describes files and formats.")
WIDTH = 140


def plain(text):
    """Text of troff without its signs."""
    return re.sub(r"\\f[BIR]|\\&", "", text).replace("\\-", "-").replace("\\e", "\\")


def prose(text):
    """Text in which Markdown sees no signs of its own."""
    return re.sub(r"([<>*_|\[\]`])", r"\\\1", text)


def wrapped(text, indent="", first=None):
    return textwrap.fill(text, WIDTH, initial_indent=indent if first is None else first, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)


def section(lines):
    """The text of one verb or task, from the lines after its heading."""
    out, i = [], 0
    while i < len(lines):
        if lines[i] == ".TP":
            end = i + 2
            while end < len(lines) and not lines[end].startswith("."):
                end += 1
            text = " ".join(prose(plain(line)) for line in lines[i + 2:end])
            entry = wrapped(f"- `{plain(lines[i + 1]).strip()}`: {text}", "  ", "")
            if out and out[-1].startswith("- "):
                out[-1] += "\n" + entry
            else:
                out.append(entry)
            i = end
        elif lines[i] == ".EX":
            end = lines.index(".EE", i)
            out.append("```text\n" + "\n".join(plain(line) for line in lines[i + 1:end]) + "\n```")
            i = end + 1
        elif lines[i] == ".PP":
            i += 1
        else:
            end = i + 1
            while end < len(lines) and not lines[end].startswith("."):
                end += 1
            text = " ".join(prose(plain(line)) for line in lines[i:end])
            out.append(f"**{text[:-1]}**" if text.endswith(":") and lines[end:end + 1] == [".TP"] else wrapped(text))
            i = end
    return out


def pages(man):
    """The pages by verb."""
    found, verb = {}, None
    for part in re.split(r"^\.SS ", man, flags=re.M)[1:]:
        heading, *lines = part.rstrip("\n").split("\n")
        words = plain(heading).split()
        if len(words) == 2:
            verb = words[1]
            found[verb] = ["# " + " ".join(words), NOTE, *section(lines), BACK]
        else:
            found[verb] += ["## " + " ".join(words), *section(lines)]
    verbs = [wrapped(f"- [{name}]({name}.md): {blocks[2]}", "  ", "") for name, blocks in found.items()]
    found["README"] = ["# Manual", NOTE, INDEX, "\n".join(verbs)]
    return {name: "\n\n".join(blocks) + "\n" for name, blocks in found.items()}


class PagesTest(unittest.TestCase):
    MAN = (".TH T 1\n.SH VERBS\n.SS tape walk\nwalk.\n.SS tape walk fast\nwalk_fast.\n.PP\nPace:\n.TP\n\\fB\\-\\-by\\fR \\fIN\\fR\n"
           "\\&.5 or <more> (default: 1)\n.TP\n\\fB\\-\\-up\\fR \nup\n.PP\nlast\nwords.\n.PP\nExamples:\n.PP\n.EX\ntape walk fast \\-\\-up > a_b\n.EE\n"
           ".SS tape info\nfacts.\n")

    def test_verbs_are_pages_and_options_are_items(self):
        self.assertEqual(pages(self.MAN), {
            "walk": f"# tape walk\n\n{NOTE}\n\nwalk.\n\n{BACK}\n\n## tape walk fast\n\nwalk\\_fast.\n\n**Pace**\n\n- `--by N`: .5 or \\<more\\> "
                    "(default: 1)\n- `--up`: up\n\nlast words.\n\nExamples:\n\n```text\ntape walk fast --up > a_b\n```\n",
            "info": f"# tape info\n\n{NOTE}\n\nfacts.\n\n{BACK}\n",
            "README": f"# Manual\n\n{NOTE}\n\n{INDEX}\n\n- [walk](walk.md): walk.\n- [info](info.md): facts.\n"})

    def test_another_page_is_found(self):
        self.assertEqual(differences({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}), ["b", "c"])


def differences(made, there):
    return sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))


def main():
    if not unittest.TextTestRunner(io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(PagesTest)).wasSuccessful():
        return "manual.py fails its own tests: python3 -m unittest docs/manual.py"
    command, folder = sys.argv[1], pathlib.Path(__file__).with_suffix("")
    man = subprocess.run([command, "manual"], env={**os.environ, "TAPEGRAD_LANG": "en"}, stdout=subprocess.PIPE, check=True, text=True)
    made = pages(man.stdout)
    there = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    changed = differences(made, there)
    if sys.argv[2:] == ["--check"]:
        return f"{', '.join(changed)}: expected the pages of this command; write them: docs/manual.py {command}" if changed else 0
    for name in changed:
        path = folder / f"{name}.md"
        path.write_text(made[name], encoding="utf-8") if name in made else path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Makes docs/manual.md from the command's man page, which the command makes from its settings. Options of several verbs and
tasks are described once.

    docs/manual.py build/release/tapegrad           writes docs/manual.md
    docs/manual.py build/release/tapegrad --check   fails if that page is another one
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
INDEX = ("The verbs and tasks of the command with all options and their defaults, as `tapegrad help VERB TASK` and `man tapegrad` show\n"
         "them. [The command](command.md) describes what holds for all of them, [tasks](tasks.md) and [GPT](gpt.md) the kinds of runs.")
SHARED = "Options of several verbs. Each verb or task names its shared options, or their group, with the defaults that differ between them."
OF_TASKS = "Options of several tasks of this verb:"
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


DEFAULT = re.compile(r" \(default: ((?:[^()]|\([^()]*\))*)\)$")


class Option:
    """An option of one verb or task: how it is written, what it does, and its default there."""

    def __init__(self, written, text):
        self.written, self.default = written, (DEFAULT.search(text) or [None, None])[1]
        self.text = DEFAULT.sub("", text)
        self.key = (written, self.text)
        self.name = written.split()[0].rstrip(",")

    def entry(self, default):
        return wrapped(f"- `{self.written}`: {prose(self.text)}" + (f" (default: {prose(default)})" if default else ""), "  ", "")


def section(lines):
    """The contents of one verb or task, from the lines after its heading: texts, titles of groups as ("**Group**",), and options."""
    out, i = [], 0
    while i < len(lines):
        end = i + 1
        if lines[i] == ".TP":
            end = i + 2
            while end < len(lines) and not lines[end].startswith("."):
                end += 1
            out.append(Option(plain(lines[i + 1]).strip(), " ".join(plain(line) for line in lines[i + 2:end])))
        elif lines[i] == ".EX":
            end = lines.index(".EE", i) + 1
            out.append("```text\n" + "\n".join(plain(line) for line in lines[i + 1:end - 1]) + "\n```")
        elif lines[i] != ".PP":
            while end < len(lines) and not lines[end].startswith("."):
                end += 1
            text = " ".join(prose(plain(line)) for line in lines[i:end])
            out.append((f"**{text[:-1]}**",) if text.endswith(":") and lines[end:end + 1] == [".TP"] else wrapped(text))
        i = end
    return out


class Shared:
    """Options that several verbs or tasks have, by key."""

    def __init__(self, sections):
        uses, self.options = {}, {}
        for words, contents in sections:
            group = ""
            for item in contents:
                if isinstance(item, tuple):
                    group = item[0]
                elif isinstance(item, Option):
                    uses.setdefault(item.key, []).append((words[1], group, item))
        for key, found in uses.items():
            if len(found) > 1:
                verb = found[0][0] if len({verb for verb, _, _ in found}) == 1 else ""
                same = len({item.default for _, _, item in found}) == 1
                self.options[key] = (verb, found[0][1], found[0][2].entry(found[0][2].default if same else None), same)

    def of(self, verb):
        """The blocks of those of one verb only, or, for "", of several verbs."""
        groups = {}
        for its, group, entry, _ in self.options.values():
            if its == verb:
                groups.setdefault(group, []).append(entry)
        return [block for group, entries in groups.items() for block in [*([group] if group else []), *listed(entries)]]

    def named(self, own):
        """The options of one verb or task, `own`, by key: a group by its title if nearly all of its options are there."""
        groups, phrases, single = {}, [], []
        for key, (verb, group, _, same) in self.options.items():
            groups.setdefault((verb, group), []).append((key, same))
        present = {item.name for item in own.values()}
        for (verb, group), keys in groups.items():
            here = [(own[key], same) for key, same in keys if key in own]
            missing = [f"`{key[0].split()[0]}`" for key, _ in keys if key not in own and key[0].split()[0] not in present]
            names = [f"`{item.name}` ({short(item.default)})" for item, same in here if not same and item.default]
            if group and len(here) >= 4 and len(missing) <= len(here) / 2:
                phrases.append(f"all of {group} {'above' if verb else 'below'}" + (" but " + ", ".join(missing) if missing else "")
                               + (", with " + ", ".join(names) if names else ""))
            else:
                single += [f"`{item.name}`" + (f" ({short(item.default)})" if not same and item.default else "") for item, same in here]
        return phrases + ([", ".join(single)] if single else [])


def short(default):
    """A default without its explanation."""
    return prose(re.split(r", which means|; ", default)[0])


def listed(items):
    """Lines of Markdown: entries of a list follow one another, other blocks are separated by an empty line."""
    blocks = []
    for item in items:
        if item.startswith("- ") and blocks and blocks[-1].startswith("- "):
            blocks[-1] += "\n" + item
        else:
            blocks.append(item)
    return blocks


def one_section(contents, shared):
    """The blocks of a verb or task, with the names of its shared options in one paragraph."""
    blocks, own, group = [], {}, None
    for item in contents:
        if isinstance(item, tuple):
            group = item[0] if item[0] != "**Options**" else None
        elif isinstance(item, str):
            blocks.append(item)
        elif item.key in shared.options:
            own[item.key] = item
        else:
            if group:
                blocks.append(group)
                group = None
            blocks.append(item.entry(item.default))
    if own:
        where = next((i for i, block in enumerate(blocks) if block == "Examples:"), len(blocks))
        blocks.insert(where, wrapped("Shared options: " + "; ".join(shared.named(own)) + "."))
    return listed(blocks)


def without_repeats(contents, seen):
    """The contents without descriptions of tasks and calls that are in `seen`, to which the others are added."""
    def fresh(item):
        new = set(item.split("\n")) - {"Examples:", "```text", "```"} - seen if isinstance(item, str) else {item}
        seen.update(new)
        return new
    kept = [item for item in contents if item == "Examples:" or fresh(item)]
    return kept[:-1] if kept and kept[-1] == "Examples:" else kept


def page(man):
    sections, seen = [], set()
    for part in re.split(r"^\.SS ", man, flags=re.M)[1:]:
        heading, *lines = part.rstrip("\n").split("\n")
        sections.append((plain(heading).split(), without_repeats(section(lines), seen)))
    shared = Shared(sections)
    blocks = ["# Manual", NOTE, INDEX]
    for words, contents in sections:
        blocks += ["#" * len(words) + " " + " ".join(words), *one_section(contents, shared)]
        of_tasks = shared.of(words[1]) if len(words) == 2 else []
        blocks += [OF_TASKS, *of_tasks] if of_tasks else []
    blocks += ["## Shared options", SHARED, *shared.of("")]
    return "\n\n".join(blocks) + "\n"


class PageTest(unittest.TestCase):
    MAN = (".TH T 1\n.SH VERBS\n.SS tape walk\nwalk.\n.SS tape walk fast\nwalk_fast.\n.PP\nPace:\n.TP\n\\fB\\-\\-by\\fR \\fIN\\fR\n"
           "\\&.5 or <more> (default: 1)\n.TP\n\\fB\\-\\-up\\fR \nup (or not) (default: no (0))\n.PP\nExamples:\n.PP\n.EX\n"
           "tape walk fast \\-\\-up > a_b\n.EE\n.SS tape walk on\nwalk_fast.\n.PP\nPace:\n.TP\n\\-\\-up\nup (or not) (default: yes)\n"
           ".TP\n\\-\\-far N\nfar (default: 2)\n.PP\nExamples:\n.PP\n.EX\ntape walk fast \\-\\-up > a_b\n.EE\n.SS tape fly\nflies.\n.PP\nPace:\n.TP\n\\-\\-far N\nfar (default: 2)\n")

    def test_shared_options_are_described_once(self):
        self.assertEqual(page(self.MAN), f"# Manual\n\n{NOTE}\n\n{INDEX}\n\n## tape walk\n\nwalk.\n\n{OF_TASKS}\n\n**Pace**\n\n"
                         "- `--up`: up (or not)\n\n### tape walk fast\n\nwalk\\_fast.\n\n"
                         "**Pace**\n\n- `--by N`: .5 or \\<more\\> (default: 1)\n\nShared options: `--up` (no (0)).\n\nExamples:\n\n"
                         "```text\ntape walk fast --up > a_b\n```\n\n### tape walk on\n\nShared options: `--up` (yes), `--far`.\n\n"
                         "## tape fly\n\nflies.\n\nShared options: `--far`.\n\n"
                         f"## Shared options\n\n{SHARED}\n\n**Pace**\n\n- `--far N`: far (default: 2)\n")


def main():
    if not unittest.TextTestRunner(io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(PageTest)).wasSuccessful():
        return "manual.py fails its own test: python3 -m unittest docs/manual.py"
    command, path = sys.argv[1], pathlib.Path(__file__).with_suffix(".md")
    man = subprocess.run([command, "manual"], env={**os.environ, "TAPEGRAD_LANG": "en"}, stdout=subprocess.PIPE, check=True, text=True)
    made = page(man.stdout)
    if sys.argv[2:] == ["--check"]:
        same = path.exists() and path.read_text(encoding="utf-8") == made
        return 0 if same else f"docs/manual.md: expected the page of this command; write it: docs/manual.py {command}"
    path.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

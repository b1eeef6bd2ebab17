"""Writes tutorial_pages.json: what the five tutorials contain, for the tests of `tapegrad tutorial`.

usage: python3 make_tutorial_pages.py FOLDER > tutorial_pages.json     (FOLDER has the tutorials as text files)

"places": per tutorial, its sections or cells. "printed": per place, the numbers of each line of output, without words and
brackets. Facts only: no sentence and no line of code of the tutorials is kept.
"""
import json
import pathlib
import re
import sys

# Parts of the deep dives, which have numbers of their own.
PARTS = {"8.2.3": "1 2.1 2.2 3.1 3.2 4.1 4.2 5.1 5.2 6.1 6.2 7.1 7.2 8.1 8.2 9", "8.3.2": "1 2 3 4 5 6 7 8 9"}
NUMBER = r"-?\d+\.\d*(?:e[+-]\d+)?|-inf|(?<![\w.])-?\d+(?![\w.])"


def without_notes(line):
    """The line without what PyTorch adds to a tensor, and without the index of a dimension."""
    return re.sub(r"grad_fn=<\w+>|\(i=\d+\)|torch\.Size\(", "", line).strip()


def is_output(line):
    """Whether a line is a row of a tensor or table, or "label: number"."""
    text = without_notes(line)
    if re.match(r"^i=\s*\d+: ", text):
        return True
    if re.search(r"[=#{}\\]|\btorch\.|self|np\.|print|import|^[•*-] ", text):
        return False
    if re.match(r"^(tensor\([\[\d]|\[)", text) or re.match(r"^\w+\s*(\[\s*\S+\s*\])+$", text):
        return bool(re.search(r"\d\.|-inf|\d\]$", text))
    if re.match(r"^-?\d+\.\d+, ", text):
        return True
    return bool(re.match(r"^[A-Za-z][\w .()/&+]*:\s*[\[(]*[-\d]", text))


def numbers_of(line):
    line = without_notes(line)
    if line.startswith("i="):
        return re.findall(NUMBER, line.split(":")[1])[0]
    text = line.split(":", 1)[1] if re.match(r"^\s*[A-Za-z][^\[]*:", line) else re.sub(r"^\s*[A-Za-z]\w*\s+\[", "[", line)
    return " ".join(re.findall(NUMBER, text))


def rows_of_post(line):
    """The rows of tutorials 001 and 002: shapes, masks as 0 and 1, and the start of a tensor."""
    rows = [" ".join(re.findall(r"\d+", shape)) for shape in re.findall(r"torch\.Size\(\[([\d, ]+)\]\)", line)]
    for mask in re.findall(r"\[((?: ?(?:True|False),? *)+)\]", line):
        rows.append(" ".join("1" if word == "True" else "0" for word in re.findall("True|False", mask)))
    if numbers := re.match(r"^[가-힣 ]+: tensor\(\[(-?\d.*)", line):
        rows.append(" ".join(re.findall(NUMBER, numbers.group(1))))
    return rows


def places_of_chapter(lines):
    """(section, line) of tutorial 003."""
    section = ""
    for line in lines:
        heading = re.match(r"^(8\.\d(?:\.\d)?)\s+[^-]", line)
        if heading and heading.group(1) > section and ".py" not in line:
            section = heading.group(1)
        yield section, line


def places_of_notebook(lines):
    cell = ""
    for line in lines:
        heading = re.match(r"^In \[(\d+)\]:", line)
        cell = heading.group(1) if heading else cell
        yield cell, line


def places_of_post(lines):
    section = ""
    for line in lines:
        heading = re.match(r"^#{2,3} (\d(?:\.\d)?)\.? ", line)
        section = heading.group(1) if heading else section
        yield section, line


def main():
    out = {"places": {}, "printed": {}}
    for path in sorted(pathlib.Path(sys.argv[1]).glob("00*.txt")):
        name = path.name[:3]
        lines = path.read_text().split("\n")
        pairs = {"003": places_of_chapter, "001": places_of_post}.get(name, places_of_notebook)(lines)
        if name == "000":
            out["places"][name] = ["1", "2", "3", "4"]
            continue
        places = out["places"].setdefault(name, [])
        for place, line in pairs:
            if place and place not in places:
                places.append(place)
                places += [f"{place}/{part}" for part in PARTS.get(place, "").split()]
            if place and name in ("001", "002"):
                rows = out["printed"].setdefault(f"{name} {place}", [])
                rows += [row for row in dict.fromkeys(rows_of_post(line)) if row not in rows]
            if name == "004":  # a label in Korean, and a shape alone
                line = re.sub(r"^torch\.Size(?=\()", "shape: ", re.sub(r"^[가-힣 ]+:\s*(?=tensor\()", "", line))
            if place and name in ("003", "004") and is_output(line) and (row := numbers_of(line)):
                rows = out["printed"].setdefault(f"{name} {place}", [])
                if row not in rows:
                    rows.append(row)
    out["printed"] = {place: rows for place, rows in out["printed"].items() if rows}
    json.dump(out, sys.stdout, indent=1, ensure_ascii=False)
    print()


main()

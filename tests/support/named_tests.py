#!/usr/bin/env python3
"""Do the tests that a text names exist?

  named_tests.py BUILD-DIRECTORY FILE.md...

In backticks (not in fenced code) these name tests:

  `Suite.Case`, `Set/Suite.Case/param`   as ctest knows it; `Set/Suite.Case/*` for all parameters
  `test::test_case`                      a function of the script that ctest runs as "test"
  `test::*`                              all that ctest runs as "test"

In a table that begins with "identity", each cell behind the first must name a test and say against what
((real), (own) or (rude)), or another row ("as SAS") or column ("the same as list"), or be "–".

Anything else in backticks is left alone. Where tests are not built, as in a sanitizer's tree, nothing
can be said: exit code 77, which ctest takes for "skipped".
"""

import fnmatch
import json
import pathlib
import re
import subprocess
import sys

CXX = re.compile(r"(\w+/)?[A-Z]\w*\.[A-Z]\w*(/\S+)?")
SCRIPT = re.compile(r"([a-z][\w.]*)::(test_\w+|\*)")
PYTHON_CLASS = re.compile(r"^class (\w+)\b.*?(?=^\S|\Z)", re.M | re.S)
CASE = re.compile(r"^\s*(?:def )?(test_\w+)\s*\(", re.M)


def known_tests(build):
    """Name -> command. CMake leaves how GoogleTest prints a parameter behind its name."""
    done = subprocess.run(
        ["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=True
    )
    tests = json.loads(done.stdout)["tests"]
    return {test["name"].split("  # GetParam() = ")[0]: test.get("command", []) for test in tests}


def cases_of(command):
    """The functions test_* of the script that a command runs; of a Python file's class alone, where
    an argument names one."""
    cases = set()
    for script in (pathlib.Path(word) for word in command if word.endswith(("_test.py", "_test.sh"))):
        # A path that is relative to a script of the same folder (kubernetes/run.sh).
        places = [script, *(pathlib.Path(word).parent / script for word in command)]
        text = next((place.read_text() for place in places if place.is_file()), "")
        classes = {m.group(1): m.group(0) for m in PYTHON_CLASS.finditer(text)}
        chosen = [classes[word] for word in command if word in classes]
        cases.update(CASE.findall("\n".join(chosen) or text))
    return cases


def named_in(text):
    """(line number, name) of all that is named."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            for word in re.findall(r"`([^`]+)`", line):
                if CXX.fullmatch(word) or SCRIPT.fullmatch(word):
                    yield number, word


def conformance_tables(text):
    """Each table's rows: lists of (line number, cells), the header first."""
    tables = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else [""]
        if cells[0] == "identity":
            tables.append([])
        inside = cells[0] == "identity" or (inside and cells[0] != "")
        if inside and not cells[0].startswith("-"):
            tables[-1].append((number, cells))
    return tables


def unfounded_cells(text):
    """(line number, cell) of the conformance tables' cells that show nothing."""
    for (_, columns), *rows in conformance_tables(text):
        others = {f"as {cells[0]}" for _, cells in rows} | {f"the same as {name}" for name in columns}
        for number, cells in rows:
            for cell in cells[1:]:
                words = re.findall(r"`([^`]+)`", cell)
                shown = any(CXX.fullmatch(w) or SCRIPT.fullmatch(w) for w in words)
                if not (shown and re.search(r"\((real|own|rude)\b", cell)) and cell != "–":
                    if cell not in others or cell == f"as {cells[0]}":
                        yield number, cell


def exists(name, tests):
    script = SCRIPT.fullmatch(name)
    if not script:
        return name in tests or ("*" in name and bool(fnmatch.filter(tests, name)))
    test, case = script.groups()
    return test in tests and (case == "*" or case in cases_of(tests[test]))


def main():
    build, *files = sys.argv[1:]
    tests = known_tests(build)
    if any(name.endswith("NOT_BUILT") for name in tests):
        print("not all tests are built here")
        return 77
    bad = 0
    for file in files:
        names = list(named_in(pathlib.Path(file).read_text()))
        missing = [(line, name) for line, name in names if not exists(name, tests)]
        for line, name in missing:
            print(f"{file}:{line}: no such test: {name}")
        if not names:
            print(f"{file}: names no test")
        print(f"{file}: {len(names)} names, {len(missing)} of no test")
        unfounded = list(unfounded_cells(pathlib.Path(file).read_text()))
        for line, cell in unfounded:
            print(f"{file}:{line}: shows nothing: {cell}")
        bad += len(missing) + len(unfounded) + (not names)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

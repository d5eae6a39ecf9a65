"""Clang's thread-safety analysis of the files that use a mutex (engine/base/mutex.h).

  thread_safety.py COMPILE_COMMANDS [FILE...]

Each file, by default every .cc below engine/ that includes the header itself or by one of its own
headers, is parsed as the build would with -Wthread-safety -Werror; nothing is generated. A mutex of
another kind is an error too. Exit status 77 where there is no clang.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "engine/base/mutex.h"


def headers_of(path):
    return set(re.findall(r'^#include "([^"]+)"', path.read_text(), re.M))


def uses_mutex(path):
    own = headers_of(path)
    if HEADER in own:
        return True
    return any((ROOT / name).exists() and HEADER in headers_of(ROOT / name) for name in own)


def other_mutexes():
    for path in sorted(ROOT.glob("engine/*/*.*")):
        if str(path.relative_to(ROOT)) == HEADER:
            continue
        if re.search(r"std::(shared_|recursive_)?mutex|std::condition_variable", path.read_text()):
            yield path.relative_to(ROOT)


def check(clang, entry):
    """entry: of the database, or the path of a file that is not built."""
    file, keep = entry, ["-std=c++20", f"-I{ROOT}", f"-I{ROOT}/include"]
    if isinstance(entry, dict):
        file = entry["file"]
        words = shlex.split(entry["command"])
        keep = [w for i, w in enumerate(words)
                if w.startswith(("-I", "-D", "-std")) or "-isystem" in words[i - 1:i + 1]]
    return subprocess.run([clang, *keep, "-fsyntax-only", "-Wthread-safety", "-Werror", file],
                          cwd=ROOT, capture_output=True, text=True, check=False)


def main():
    clang = os.environ.get("CLANGXX") or shutil.which("clang++")
    if clang is None:
        print("no clang++ here (package clang): not checked")
        return 77
    database = {pathlib.Path(e["file"]): e for e in json.loads(pathlib.Path(sys.argv[1]).read_text())}
    wanted = [pathlib.Path(name).resolve() for name in sys.argv[2:]]
    if not wanted:
        wanted = [path for path in sorted(database)
                  if ROOT / "engine" in path.parents and uses_mutex(path)]
    failed = False
    for path in other_mutexes():
        print(f"{path}: a mutex that guards nothing by name: use {HEADER}")
        failed = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(lambda path: check(clang, database.get(path, path)), wanted):
            failed = failed or result.returncode != 0
            print(result.stderr, end="")
    print(f"{len(wanted)} files")
    return 1 if failed or not wanted else 0


sys.exit(main())

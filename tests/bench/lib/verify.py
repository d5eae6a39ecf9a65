"""verify.py EXPECTED STAGED: says nothing if STAGED holds exactly the files of EXPECTED, byte for byte.
A directory .stage-model in STAGED is the engine's own."""

import os
import sys

PIECE = 1 << 20


def files(top):
    found = {}
    for parent, directories, names in os.walk(top):
        if parent == top and ".stage-model" in directories:
            directories.remove(".stage-model")
        for name in names:
            path = os.path.join(parent, name)
            found[os.path.relpath(path, top)] = path
    return found


def same(one, other):
    if os.path.getsize(one) != os.path.getsize(other):
        return False
    with open(one, "rb") as a, open(other, "rb") as b:
        while True:
            piece = a.read(PIECE)
            if piece != b.read(PIECE):
                return False
            if not piece:
                # Memory is short with sixteen copies around.
                os.posix_fadvise(b.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                return True


def main():
    expected, staged = files(sys.argv[1]), files(sys.argv[2])
    for name in sorted(expected.keys() ^ staged.keys()):
        raise SystemExit(f"{name}: {'missing' if name in expected else 'should not be there'}")
    for name in sorted(expected):
        if not same(expected[name], staged[name]):
            raise SystemExit(f"{name}: other bytes than the source has")


if __name__ == "__main__":
    main()

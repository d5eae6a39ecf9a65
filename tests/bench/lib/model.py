"""The model: files with random bytes (the same on every run), and the store's list of them."""

import math
import os
import random
from xml.sax.saxutils import escape

MIB = 1 << 20


def mixed(count, total):
    """Sizes as in real repositories: a few small ones, the rest from 1 to 250, evenly by logarithm."""
    small = count // 20
    sizes = [1000 + 2000 * i for i in range(small)]
    weights = [math.exp(math.log(250) * i / max(1, count - small - 1))
               for i in range(count - small)]
    left = total - sum(sizes)
    sizes += [max(1, int(left * w / sum(weights))) for w in weights]
    sizes[-1] += total - sum(sizes)
    return sizes


def equal(count, each):
    return [each] * count


def small(count):
    return [1000 + (49_000 * i) // max(1, count - 1) for i in range(count)]


def sizes_of(files, scale):
    """`scale` makes the model smaller: its files where they are big, their number where not."""
    kind, *arguments = files
    if kind == "mixed":
        count, total = arguments
        return mixed(max(40, int(count * min(1, scale))), int(total * scale))
    if kind == "equal":
        count, each = arguments
        return equal(count, int(each * scale))
    return small(max(40, int(arguments[0] * scale)))


def make(directory, sizes):
    """Writes the files; the order of names is not that of sizes, as in real life."""
    order = list(range(len(sizes)))
    random.Random(1).shuffle(order)
    names = []
    for place, i in enumerate(order):
        sub = f"part-{place % 8}" if len(sizes) > 100 else "."
        os.makedirs(os.path.join(directory, sub), exist_ok=True)
        name = os.path.normpath(f"{sub}/{place:05d}.safetensors")
        noise = random.Random(i)
        left = sizes[i]
        with open(os.path.join(directory, name), "wb") as file:
            while left:
                piece = min(left, MIB)
                file.write(noise.randbytes(piece))
                left -= piece
        os.chmod(os.path.join(directory, name), 0o644)
        names.append(name)
    return sorted(names)


def azure_list(directory, names, prefix):
    """What List Blobs answers. The ETags are those that nginx sends, so that If-Match works."""
    blobs = []
    for name in names:
        status = os.stat(os.path.join(directory, name))
        etag = f"{int(status.st_mtime):x}-{status.st_size:x}"
        blobs.append(
            f"<Blob><Name>{escape(prefix + name)}</Name><Properties>"
            f"<Content-Length>{status.st_size}</Content-Length><Etag>{etag}</Etag>"
            f"<BlobType>BlockBlob</BlobType></Properties></Blob>")
    return ("<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults><Blobs>"
            + "".join(blobs) + "</Blobs><NextMarker/></EnumerationResults>")

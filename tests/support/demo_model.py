#!/usr/bin/env python3
"""Makes a model directory as they lie in stores: demo_model.py DIRECTORY [MEBIBYTES]

Safetensors-shaped shards (one of about two thirds of the whole, default 200 of 304 MiB), a tail of
small files, an empty one, and names that have to be encoded on their way: spaces, %, +, #, &, ?,
quotes, unicode. The bytes are random but the same on every run, and no two MiB are alike, so that a
misplaced piece changes a checksum.
"""

import json
import os
import random
import struct
import sys

MIB = 1 << 20


def write_shard(path, size, seed):
    """A safetensors file: 8 bytes header length, JSON header, tensors."""
    tensors = max(1, size // (16 * MIB))
    header_size = 64 * 1024
    data_size = size - 8 - header_size
    each = data_size // tensors
    header = {"__metadata__": {"format": "pt"}}
    for i in range(tensors):
        end = data_size if i == tensors - 1 else (i + 1) * each
        header[f"model.layers.{i}.mlp.down_proj.weight"] = {
            "dtype": "U8",
            "shape": [end - i * each],
            "data_offsets": [i * each, end],
        }
    text = json.dumps(header).encode().ljust(header_size)
    noise = random.Random(seed)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", header_size) + text)
        left = data_size
        while left:
            piece = min(left, MIB)
            file.write(noise.randbytes(piece))
            left -= piece


def small_files():
    """Name and size of what lies beside the shards in real repositories, and the hard names."""
    files = {
        "config.json": 721,
        "generation_config.json": 187,
        "tokenizer.json": 1_800_017,
        "tokenizer_config.json": 50_977,
        "special_tokens_map.json": 73,
        "merges.txt": 456_318,
        "LICENSE": 11_343,
        "README.md": 5_120,
        "EMPTY": 0,
        ".gitattributes": 1_519,
        "notes/read me first.txt": 100,
        "notes/100%.txt": 101,
        "notes/a%20b.txt": 102,
        "notes/c%2Fd.txt": 103,
        "notes/1+1=2.txt": 104,
        "notes/issue #7.txt": 105,
        "notes/x&y;z=$^.bin": 4_096,
        "notes/what?.txt": 106,
        "notes/it's \"quoted\".txt": 107,
        "notes/größe-模型-🤗.json": 108,
        "notes/[v1] {a,b} ~final!.txt": 109,
        "notes/deep/er/and/deeper/one-byte": 1,
        "notes/page.bin": 4_096,
        "notes/page-and-one.bin": 4_097,
    }
    for i in range(22):
        files[f"adapters/lora_{i:02d}/adapter_config.json"] = 600 + i
    return files


def main():
    directory = sys.argv[1]
    total = int(sys.argv[2]) if len(sys.argv) > 2 else 304
    big = total * 200 // 304
    middle = (total - big) * 2 // 3
    shards = [big, middle, total - big - middle]
    os.makedirs(directory, exist_ok=True)
    index = {"metadata": {"total_size": total * MIB}, "weight_map": {}}
    for i, size in enumerate(shards):
        name = f"model-{i + 1:05d}-of-{len(shards):05d}.safetensors"
        # The last shard of a real model ends anywhere.
        odd = 12_345 if i == len(shards) - 1 else 0
        write_shard(os.path.join(directory, name), size * MIB + odd, seed=i)
        index["weight_map"][f"model.layers.{i}.mlp.down_proj.weight"] = name
    with open(os.path.join(directory, "model.safetensors.index.json"), "w") as file:
        json.dump(index, file)
    for i, (name, size) in enumerate(small_files().items()):
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(random.Random(1000 + i).randbytes(size))


main()

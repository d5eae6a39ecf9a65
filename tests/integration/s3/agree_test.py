#!/usr/bin/env python3
"""stage-engine gets the same tree from S3 as rclone does, with the store's hashes verified.

Usage: agree_test.py STAGE-ENGINE SUPPORT-FOLDER, run by $STAGE_MOTO (it has boto3).
"""

import filecmp
import io
import os
import subprocess
import sys
import tempfile

import boto3
from boto3.s3.transfer import TransferConfig

engine, support = sys.argv[1:]
NAMES = [
    "a/b c%20d#e?.bin",
    "50%.bin",
    "abc.%22",
    "x+y&z=$^.bin",
    "a b.txt",
    "a+b.txt",
    "100%.csv",
    "run=2026-01-01T00:00:00+00:00/f.bin",
    "한글/모델.safetensors",
    "empty.bin",
]


def tree(top):
    found = []
    for folder, _, files in os.walk(top):
        found += [os.path.relpath(os.path.join(folder, f), top) for f in files]
    return sorted(f for f in found if not f.startswith(".stage-model/"))


server = subprocess.Popen(
    [sys.executable, f"{support}/s3_server.py"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
)
try:
    _, port, key, secret = server.stdout.readline().split()
    environment = {
        "PATH": os.environ["PATH"],
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "no_proxy": "*",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    os.environ.update(environment)
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket="models")
    for i, name in enumerate(NAMES[::-1]):  # the last one is empty
        s3.put_object(Bucket="models", Key="m/" + name, Body=os.urandom(1000 * i))
    s3.put_object(Bucket="models", Key="m/big.bin", Body=os.urandom(20 << 20))
    parts = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=8 << 20)
    s3.upload_fileobj(io.BytesIO(os.urandom(20 << 20)), "models", "m/parts.bin", Config=parts)

    with tempfile.TemporaryDirectory() as work:
        remote = f":s3,provider=Other,env_auth=true,endpoint='http://127.0.0.1:{port}':models/m"
        environment["HOME"] = work
        subprocess.run(
            ["rclone", "copy", remote, f"{work}/theirs"], env=environment, check=True, timeout=100
        )
        subprocess.run(
            [engine, "--verify=store", "s3://models/m/", f"{work}/ours"],
            env=environment,
            check=True,
            timeout=100,
        )
        theirs, ours = tree(f"{work}/theirs"), tree(f"{work}/ours")
        assert len(theirs) == len(NAMES) + 2, theirs
        assert theirs == ours, (theirs, ours)
        _, different, errors = filecmp.cmpfiles(
            f"{work}/theirs", f"{work}/ours", theirs, shallow=False
        )
        assert not different and not errors, (different, errors)
    print("the same tree:", len(theirs), "files")
finally:
    server.stdin.close()
    server.wait(timeout=10)

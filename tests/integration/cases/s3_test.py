#!/usr/bin/env python3
"""Cases N2, L2, H8: S3 keys from list to disk, and objects in the wrong place or class."""

import unittest
import urllib.parse
from xml.sax.saxutils import escape

from case import CaseTest
from mock import Service

KEYS = ["a b.txt", "a+b.txt", "100%.csv", "run=2026-01-01T00:00:00+00:00/f.bin", "한글/모델.safetensors",
        "a%20b.txt", "a%2Bb.txt"]


class S3(Service):
    """Bucket "models" by the path-style API: pages of `page` keys, marked with tokens like real ones."""

    def __init__(self):
        super().__init__()
        self.files = {f"m/{key}": f"the bytes of {key}".encode() for key in KEYS}
        self.encodes = True
        self.page = 1000
        self.cold = set()
        self.region = None

    def answer(self, handler):
        path, _, query = handler.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        region = handler.headers["Authorization"].split("/")[2]
        if self.region and region != self.region:
            return handler.reply(301, b"<Error><Code>PermanentRedirect</Code></Error>",
                                 {"x-amz-bucket-region": self.region})
        if "list-type" in query:
            return handler.reply(200, self.list(query).encode())
        key = urllib.parse.unquote(path.removeprefix("/models/"))
        if key in self.cold:
            return handler.reply(403, b"<Error><Code>InvalidObjectState</Code></Error>", {"x-amz-request-id": "R1"})
        if key not in self.files:
            return handler.reply(404, b"<Error><Code>NoSuchKey</Code></Error>")
        return handler.reply_file(self.files[key], {"ETag": '"v1"'})

    def list(self, query):
        keys = sorted(key for key in self.files if key.startswith(query.get("prefix", "")))
        tokens = [f"1oDM+g/plc=={at}" for at in range(0, len(keys), self.page)]
        at = tokens.index(query["continuation-token"]) if "continuation-token" in query else 0
        xml = "<ListBucketResult>" + ("<EncodingType>url</EncodingType>" if self.encodes else "")
        for key in keys[at * self.page : (at + 1) * self.page]:
            # As real S3 does: a space becomes "+".
            name = urllib.parse.quote_plus(key, safe="/") if self.encodes else escape(key)
            xml += f"<Contents><Key>{name}</Key><Size>{len(self.files[key])}</Size><ETag>\"v1\"</ETag></Contents>"
        if at + 1 < len(tokens):
            xml += f"<IsTruncated>true</IsTruncated><NextContinuationToken>{tokens[at + 1]}</NextContinuationToken>"
        return xml + "</ListBucketResult>"


class S3Test(CaseTest):
    def setUp(self):
        super().setUp()
        self.s3 = self.service(S3())
        self.env.update({"AWS_ENDPOINT_URL": self.s3.origin, "AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_REGION": "us-east-1",
                         "AWS_SECRET_ACCESS_KEY": "s3cr3t", "AWS_CONFIG_FILE": "/nonexistent",
                         "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true"})

    def stage(self, *arguments, url="s3://models/m/", **more):
        return super().stage(*arguments, url=url, **more)

    # N2

    def test_every_key_from_list_to_disk(self):
        for encodes in (True, False):
            with self.subTest(encodes=encodes):
                self.s3.encodes = encodes
                self.dest = self.dir / f"{encodes}"
                self.staged(files=self.s3.files)

    # L2

    def test_a_list_of_many_pages(self):
        self.s3.files = {f"m/{i:05}": str(i).encode() for i in range(1003)}
        self.s3.page = 200
        self.staged(files=self.s3.files)
        self.assertEqual(sum("list-type" in path for _, path, _, _ in self.s3.requests), 6)

    # H8

    def test_the_bucket_of_another_region(self):
        self.s3.region = "eu-west-1"
        self.staged(files=self.s3.files, ranks=3)

    def test_one_cold_object_of_forty_fails_the_staging(self):
        self.s3.files = {f"m/{i:02}": b"x" * 1000 for i in range(40)}
        self.s3.cold = {"m/23"}
        self.stage(ranks=3)
        self.refused(3, "object '23'", "archived", "InvalidObjectState")


if __name__ == "__main__":
    unittest.main()

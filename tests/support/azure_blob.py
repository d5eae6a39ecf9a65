#!/usr/bin/env python3
"""A small Azure Blob client for tests: only the standard library, shared key only.

  azure_blob.py put DIRECTORY CONTAINER/PREFIX   uploads every file below DIRECTORY
  azure_blob.py put-one FILE CONTAINER/NAME      uploads one file under exactly that name
  azure_blob.py make CONTAINER                   makes a container ("already there" is fine)
  azure_blob.py delete CONTAINER/NAME
  azure_blob.py sas CONTAINER SECONDS            prints a SAS that reads the container and ends in
                                                 SECONDS from now (negative: it has expired)

Environment: AZURE_STORAGE_BLOB_ENDPOINT (with the account in its path, as Azurite has it),
AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY.
"""

import base64
import concurrent.futures
import datetime
import hashlib
import hmac
import http.client
import os
import sys
import threading
import urllib.parse

VERSION = "2021-08-06"
BLOCK = 16 << 20


class Store:
    def __init__(self):
        endpoint = urllib.parse.urlsplit(os.environ["AZURE_STORAGE_BLOB_ENDPOINT"])
        self.host = endpoint.netloc
        self.base = endpoint.path.rstrip("/")
        self.account = os.environ["AZURE_STORAGE_ACCOUNT"]
        self.key = base64.b64decode(os.environ["AZURE_STORAGE_KEY"])
        self.local = threading.local()

    def sign(self, text):
        return base64.b64encode(hmac.new(self.key, text.encode(), hashlib.sha256).digest()).decode()

    def call(self, method, path, query=None, body=b"", headers=None, accept=()):
        """path: "container/name", not encoded. Raises SystemExit on an answer that is not 2xx."""
        path = self.base + "/" + urllib.parse.quote(path, safe="/~")
        query = query or {}
        headers = {
            "x-ms-date": datetime.datetime.now(datetime.timezone.utc).strftime(
                "%a, %d %b %Y %H:%M:%S GMT"
            ),
            "x-ms-version": VERSION,
            "Content-Length": str(len(body)),
            **(headers or {}),
        }
        ms_headers = "".join(
            f"{k}:{headers[k]}\n" for k in sorted(headers) if k.startswith("x-ms-")
        )
        resource = f"/{self.account}{path}" + "".join(f"\n{k}:{query[k]}" for k in sorted(query))
        length = str(len(body)) if body else ""
        text = f"{method}\n\n\n{length}\n\n\n\n\n\n\n\n\n{ms_headers}{resource}"
        headers["Authorization"] = f"SharedKey {self.account}:{self.sign(text)}"
        target = path + ("?" + urllib.parse.urlencode(query) if query else "")
        connection = getattr(self.local, "connection", None)
        if connection is None:
            connection = self.local.connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status // 100 != 2 and answer.status not in accept:
            raise SystemExit(
                f"{method} {path}: {answer.status} {answer.reason}: {content[:500].decode(errors='replace')}"
            )

    def make_container(self, name):
        self.call("PUT", name, {"restype": "container"}, accept=(409,))

    def put(self, file_name, path):
        with open(file_name, "rb") as file:
            data = file.read()
        digest = base64.b64encode(hashlib.md5(data).digest()).decode()
        if len(data) <= BLOCK:
            self.call(
                "PUT", path, body=data,
                headers={"x-ms-blob-type": "BlockBlob", "x-ms-blob-content-md5": digest},
            )
            return
        blocks = []
        for offset in range(0, len(data), BLOCK):
            block = base64.b64encode(b"%08d" % len(blocks)).decode()
            self.call("PUT", path, {"comp": "block", "blockid": block}, data[offset : offset + BLOCK])
            blocks.append(block)
        body = "<?xml version='1.0' encoding='utf-8'?><BlockList>"
        body += "".join(f"<Latest>{b}</Latest>" for b in blocks) + "</BlockList>"
        self.call(
            "PUT", path, {"comp": "blocklist"}, body.encode(),
            {"x-ms-blob-content-md5": digest},
        )

    def sas(self, container, seconds):
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
        fields = {"sp": "rl", "se": end.strftime("%Y-%m-%dT%H:%M:%SZ"), "sv": VERSION, "sr": "c"}
        text = "\n".join(
            ["rl", "", fields["se"], f"/blob/{self.account}/{container}",
             "", "", "", VERSION, "c", "", "", "", "", "", "", ""]
        )
        fields["sig"] = self.sign(text)
        return urllib.parse.urlencode(fields)


def put_tree(store, directory, target):
    store.make_container(target.split("/")[0])
    files = []
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            files.append((os.path.getsize(path), path))
    files.sort(reverse=True)  # the big ones first, so that they do not end alone
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(store.put, path, target + os.path.relpath(path, directory))
            for _, path in files
        ]
        for job in jobs:
            job.result()


def main():
    command, *arguments = sys.argv[1:]
    store = Store()
    if command == "put":
        put_tree(store, arguments[0], arguments[1])
    elif command == "put-one":
        store.put(arguments[0], arguments[1])
    elif command == "make":
        store.make_container(arguments[0])
    elif command == "delete":
        store.call("DELETE", arguments[0])
    elif command == "sas":
        print(store.sas(arguments[0], float(arguments[1])))
    else:
        raise SystemExit(__doc__)


main()

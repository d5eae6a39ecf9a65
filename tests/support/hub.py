"""A hub like Hugging Face's, by its documented API: revisions, paged trees, resolve URLs that
redirect LFS files to another host with signed URLs that expire. Misbehaves on request."""

import hashlib
import json
import time
import urllib.parse

from mock import Service

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"


class Cdn(Service):
    """Where LFS files are: knows nothing of tokens, and refuses requests that carry one."""

    def __init__(self):
        super().__init__()
        self.blobs = {}
        self.life = 3600  # seconds of a signature
        self.uses = None  # of one signature, for those that run out in the middle
        self.used = {}

    def sign(self, digest):
        return f"{self.origin}/lfs/{digest}?Expires={time.time() + self.life}&Signature=SIGNED{len(self.requests)}"

    def answer(self, handler):
        if "Authorization" in handler.headers:
            return handler.reply(400, b"only one auth mechanism allowed")
        path, _, query = handler.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        with self.lock:
            uses = self.used[handler.path] = self.used.get(handler.path, 0) + 1
        expired = float(query["Expires"]) < time.time() or (self.uses and uses > self.uses)
        if expired:
            return handler.reply(403, b"expired")
        digest = path.rsplit("/", 1)[1]
        return handler.reply_file(self.blobs[digest], {"ETag": '"the-cdns-own"'})


class Hub(Service):
    """Repositories: {"models/org/name": {"files": {path: bytes}, ...}}."""

    def __init__(self):
        super().__init__()
        self.cdn = Cdn()
        self.repos = {}
        self.token = "hf_SECRETsecretTOKEN"
        self.page = 3  # entries of a page of a tree
        self.throttle = 0  # requests that are answered 429 first
        self.pointers = set()  # paths served as their LFS pointer
        self.damaged = set()
        self.renamed = {}

    def stop(self):
        self.cdn.stop()
        super().stop()

    def add(self, repo, files, kind="models", lfs=(), gated=False, private=False):
        commit = hashlib.sha1(json.dumps([repo, sorted(files)]).encode()).hexdigest()
        entry = {"files": files, "lfs": set(lfs), "commit": commit, "gated": gated, "private": private}
        entry["revisions"] = {"main", "v1.0", "refs/pr/1", commit}
        self.repos[f"{kind}/{repo}"] = entry
        for path in lfs:
            self.cdn.blobs[hashlib.sha256(files[path]).hexdigest()] = files[path]
        return commit

    def error(self, handler, status, code):
        handler.reply(status, {"error": code}, {"X-Error-Code": code, "X-Request-Id": "req-77"})

    def answer(self, handler):
        with self.lock:
            self.throttle -= 1
            throttled = self.throttle >= 0
        if throttled:
            return handler.reply(429, b"", {"Retry-After": "1"})
        path, _, query = handler.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        parts = path.strip("/").split("/")
        if parts[0] == "api":
            kind, org, name, what = parts[1:5]
            rest = parts[5:]
        else:
            kind = parts.pop(0) if parts[0] in ("datasets", "spaces") else "models"
            org, name, what = parts[:3]
            rest = parts[3:]
        if f"{org}/{name}" in self.renamed:
            there = handler.path.replace(f"{org}/{name}", self.renamed[f"{org}/{name}"])
            return handler.reply(307, b"", {"Location": there})
        repo = self.repos.get(f"{kind}/{org}/{name}")
        known = handler.headers.get("Authorization") == f"Bearer {self.token}"
        if "Authorization" in handler.headers and not known:
            return handler.reply(401, b"Invalid credentials in Authorization header")
        if repo is None or (repo["private"] and not known):
            return self.error(handler, 404 if known else 401, "RepoNotFound")
        if repo["gated"] and what == "resolve" and (repo["gated"] == "all" or not known):
            return self.error(handler, 403 if known else 401, "GatedRepo")
        revision = urllib.parse.unquote(rest[0])
        if revision not in repo["revisions"]:
            return self.error(handler, 404, "RevisionNotFound")
        if what == "revision":
            siblings = [{"rfilename": name} for name in repo["files"]]
            return handler.reply(200, {"id": f"{org}/{name}", "modelId": f"{org}/{name}", "author": org,
                                       "sha": repo["commit"], "private": False, "gated": False,
                                       "disabled": False, "downloads": 1, "likes": 0, "tags": [],
                                       "siblings": siblings})
        if what == "tree":
            return self.tree(handler, repo, query)
        return self.resolve(handler, repo, urllib.parse.unquote("/".join(rest[1:])))

    def tree(self, handler, repo, query):
        entries = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": path}
                   for path in sorted({name.rsplit("/", 1)[0] for name in repo["files"] if "/" in name})]
        for name, data in sorted(repo["files"].items()):
            entry = {"type": "file", "path": name, "size": len(data)}
            if name in repo["lfs"]:
                sha256 = hashlib.sha256(data).hexdigest()
                pointer = POINTER.format(sha256, len(data)).encode()
                entry["oid"] = git_hash(pointer)
                entry["lfs"] = {"oid": sha256, "size": len(data), "pointerSize": len(pointer)}
                entry["xetHash"] = "f" * 64
            else:
                entry["oid"] = git_hash(data)
            entries.append(entry)
        start = int(query.get("cursor", "0").removeprefix("c+/="))
        headers = {}
        if start + self.page < len(entries):
            cursor = urllib.parse.quote(f"c+/={start + self.page}", safe="")
            at = handler.path.split("?")[0]
            headers["Link"] = f'<{self.origin}{at}?recursive=true&cursor={cursor}>; rel="next"'
        handler.reply(200, entries[start : start + self.page], headers)

    def resolve(self, handler, repo, path):
        data = repo["files"].get(path)
        if data is None:
            return self.error(handler, 404, "EntryNotFound")
        headers = {"X-Repo-Commit": repo["commit"]}
        if path in self.pointers:
            text = POINTER.format(hashlib.sha256(data).hexdigest(), len(data)).encode()
            return handler.reply_file(text, headers)
        if path in self.damaged:
            data = data[:-1] + bytes([data[-1] ^ 1])
        if path not in repo["lfs"]:
            return handler.reply_file(data, {**headers, "ETag": f'"{git_hash(data)}"'})
        digest = hashlib.sha256(repo["files"][path]).hexdigest()
        self.cdn.blobs[digest] = data
        headers.update({"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(data)),
                        "ETag": f'"{digest}"', "Location": self.cdn.sign(digest),
                        "X-Xet-Hash": "f" * 64})
        handler.reply(302, b"Found. Redirecting", headers)


def git_hash(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

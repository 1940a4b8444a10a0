"""A hub on this machine: what the hub's library asks of one, and no more."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from huggingface_hub import HfApi, constants

Files = dict[str, bytes]


class Hub(ThreadingHTTPServer):
    """Repositories in memory.

    Attributes:
        commits: repository -> commit -> its files.
        branches: repository -> branch -> its commit.
        private: repositories that were made private.
        messages: of the commits, in order.
        asked: the requests, as method and path.
        token: who does not send it may read and not write.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.commits: dict[str, dict[str, Files]] = {}
        self.branches: dict[str, dict[str, str]] = {}
        self.private: list[str] = []
        self.messages: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self.token = "secret"

    def put(self, repository: str, files: Files, branch: str = "main") -> str:
        """Commit files, which replace those that were there, and return the commit."""
        commits = self.commits.setdefault(repository, {})
        commit = hashlib.sha1(f"{sorted(files.items())}{len(commits)}".encode()).hexdigest()
        commits[commit] = files
        self.branches.setdefault(repository, {})[branch] = commit
        return commit

    def put_folder(self, repository: str, folder: Path) -> str:
        return self.put(repository, {file.name: file.read_bytes() for file in folder.iterdir()})


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        hub, body = self.server, self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = unquote(urlsplit(self.path).path.strip("/"))
        hub.asked.append((self.command, path))
        match path.split("/"):
            case ["api", "repos", "create"]:
                self.create(json.loads(body))
            case ["api", "validate-yaml"]:
                self.send({"errors": [], "warnings": []})
            case ["api", "models", owner, name, *rest]:
                kind, revision = rest[:2] or ("revision", "main")
                self.read(f"{owner}/{name}", revision, kind, body)
            case [owner, name, "resolve", revision, *file]:
                self.read(f"{owner}/{name}", revision, "/".join(file), None)

    do_HEAD = do_POST = do_GET  # noqa: N815

    def create(self, about: dict[str, Any]) -> None:
        if self.headers["Authorization"] != f"Bearer {self.server.token}":
            self.send({"error": "Invalid credentials in Authorization header"}, 401)
            return
        name = "/".join(filter(None, (about.get("organization"), about["name"])))
        new = name not in self.server.branches
        if new:
            self.server.put(name, {".gitattributes": b""})
            if about.get("private") or about.get("visibility") == "private":
                self.server.private.append(name)
        self.send({"url": f"{self.server.url}/{name}"}, 200 if new else 409)

    def read(self, name: str, revision: str, kind: str, body: bytes | None) -> None:
        """Answer a request of one kind about a commit, or without a body for one of its files."""
        branches = self.server.branches.get(name, {})
        commit = branches.get(revision, revision)
        files = self.server.commits.get(name, {}).get(commit)
        if files is None:
            absent = "RevisionNotFound" if branches else "RepoNotFound"
            self.send({}, 404, {"X-Error-Code": absent})
        elif body is None and kind not in files:
            self.send({}, 404, {"X-Repo-Commit": commit, "X-Error-Code": "EntryNotFound"})
        elif body is None:
            digest = hashlib.sha256(files[kind]).hexdigest()
            self.send(files[kind], headers={"X-Repo-Commit": commit, "ETag": f'"{digest}"'})
        elif kind == "revision":
            self.send({"id": name, "sha": commit, "siblings": [{"rfilename": f} for f in files]})
        elif kind == "tree":
            entry = {"type": "file", "oid": "0" * 40}
            self.send([{**entry, "path": file, "size": len(files[file])} for file in files])
        elif kind == "preupload":
            how = {"uploadMode": "regular", "shouldIgnore": False}
            self.send({"files": [{**how, "path": f["path"]} for f in json.loads(body)["files"]]})
        elif kind == "commit":
            self.commit(name, revision, dict(files), body)

    def commit(self, name: str, branch: str, files: Files, body: bytes) -> None:
        for line in body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "header":
                self.server.messages.append(value["summary"])
            elif entry["key"] == "deletedFile":
                del files[value["path"]]
            elif entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
        commit = self.server.put(name, files, branch)
        # Old versions of the hub's library read only addresses of the hub itself here.
        url = f"{constants.ENDPOINT}/{name}/commit/{commit}"
        self.send({"success": True, "commitOid": commit, "commitUrl": url, "hookOutput": ""})

    def send(self, content: Any, code: int = 200, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        for key, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def running_hub(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[Hub]:
    """Yield a hub that learnedgec takes for the hub, with an empty local cache."""
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    # Old versions of transformers have a copy.
    monkeypatch.setattr("transformers.utils.hub.TRANSFORMERS_CACHE", str(cache), raising=False)
    client = HfApi(endpoint=server.url, token=server.token)
    for module in ("hub", "locations"):
        monkeypatch.setattr(f"learnedgec.evaluators.{module}.hub", lambda: client)
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

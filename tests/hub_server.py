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
        self.commits: dict[str, dict[str, Files]] = {}
        self.branches: dict[str, dict[str, str]] = {}
        self.private: list[str] = []
        self.messages: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self.token = "secret"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def put(self, repository: str, files: Files, branch: str = "main") -> str:
        """Commit files, which replace those that were there, and return the commit."""
        content = repr(sorted(files.items())) + str(len(self.commits.get(repository, {})))
        commit = hashlib.sha1(content.encode()).hexdigest()
        self.commits.setdefault(repository, {})[commit] = files
        self.branches.setdefault(repository, {})[branch] = commit
        return commit

    def put_folder(self, repository: str, folder: Path) -> str:
        return self.put(
            repository, {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
        )

    def head(self, repository: str, revision: str) -> str | None:
        """Return the commit that a revision means."""
        known = self.branches[repository]
        return known.get(revision) or (revision if revision in self.commits[repository] else None)


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.answer(b"")

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, body: bytes) -> None:
        path = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        self.server.asked.append((self.command, "/".join(path)))
        if path[:3] == ["api", "repos", "create"]:
            self.create(json.loads(body))
        elif path == ["api", "validate-yaml"]:
            self.send({"errors": [], "warnings": []})
        elif path[:2] == ["api", "models"]:
            self.repository("/".join(path[2:4]), path[4:], body)
        elif path[2:3] == ["resolve"]:
            self.file("/".join(path[:2]), path[3], "/".join(path[4:]))
        else:
            self.send({"error": "no such place"}, 404)

    def create(self, about: dict[str, Any]) -> None:
        if self.headers["Authorization"] != f"Bearer {self.server.token}":
            self.send({"error": "Invalid credentials in Authorization header"}, 401)
            return
        name = (
            f"{about['organization']}/{about['name']}" if "organization" in about else about["name"]
        )
        new = name not in self.server.branches
        if new:
            self.server.put(name, {".gitattributes": b""})
            if about.get("private") or about.get("visibility") == "private":
                self.server.private.append(name)
        self.send({"url": f"{self.server.url}/{name}"}, 200 if new else 409)

    def repository(self, name: str, rest: list[str], body: bytes) -> None:
        if name not in self.server.branches:
            self.send({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
            return
        what, revision = (rest[0], rest[1]) if rest else ("revision", "main")
        commit = self.server.head(name, revision)
        if commit is None:
            self.send({"error": "no revision"}, 404, {"X-Error-Code": "RevisionNotFound"})
            return
        files = self.server.commits[name][commit]
        if what == "revision":
            self.send({"id": name, "sha": commit, "siblings": [{"rfilename": f} for f in files]})
        elif what == "tree":
            self.send(
                [
                    {"type": "file", "path": file, "size": len(data), "oid": "0" * 40}
                    for file, data in files.items()
                ]
            )
        elif what == "preupload":
            asked = json.loads(body)["files"]
            self.send(
                {
                    "files": [
                        {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                        for file in asked
                    ]
                }
            )
        elif what == "commit":
            self.commit(name, revision, dict(files), body)

    def commit(self, name: str, branch: str, files: Files, body: bytes) -> None:
        for line in body.decode().splitlines():
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

    def file(self, name: str, revision: str, file: str) -> None:
        if name not in self.server.branches:
            self.send({}, 404, {"X-Error-Code": "RepoNotFound"})
            return
        commit = self.server.head(name, revision)
        if commit is None:
            self.send({}, 404, {"X-Error-Code": "RevisionNotFound"})
            return
        content = self.server.commits[name][commit].get(file)
        headers = {"X-Repo-Commit": commit}
        if content is None:
            self.send({}, 404, headers | {"X-Error-Code": "EntryNotFound"})
            return
        digest = hashlib.sha256(content).hexdigest()
        self.send(content, 200, headers | {"ETag": f'"{digest}"'})

    def send(self, content: Any, code: int = 200, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        for key, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@contextmanager
def running_hub(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[Hub]:
    """Yield a hub that learnedgec takes for the hub, with an empty local cache."""
    from learnedgec.applications import hub as sharing
    from learnedgec.evaluators import hub as module

    server = Hub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    # Old versions of transformers have a copy.
    monkeypatch.setattr("transformers.utils.hub.TRANSFORMERS_CACHE", str(cache), raising=False)

    def ours() -> HfApi:
        return HfApi(endpoint=server.url, token=server.token)

    for place in (module, sharing):
        monkeypatch.setattr(place, "hub", ours)
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

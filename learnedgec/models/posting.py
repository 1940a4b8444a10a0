"""HTTP requests that end in time, whatever the server does.

The time-outs of the standard library begin again with each byte, so they never give up a server that sends
one now and then.
"""

from __future__ import annotations

import http.client
import io
import math
import socket
import time
import urllib.request
from collections.abc import Mapping
from functools import partial
from typing import Any

__all__ = ["post"]


def post(
    url: str, content: bytes, headers: Mapping[str, str], *, timeout: float, end: float, most: int
) -> bytes:
    """Send a POST request and return the body of the response.

    Args:
        url: of http or https; proxies are those of the environment.
        content: the body of the request.
        headers: of the request; redirects, which would carry them to another host, are errors.
        timeout: seconds without a byte after which it has failed.
        end: when it has failed in any case, in `time.monotonic`'s seconds. Errors' bodies end then, too.
        most: bytes of a body.

    Raises:
        urllib.error.HTTPError: the server answered with a status that is no success.
        OSError: there is no connection, or it is too slow (`TimeoutError`).
        http.client.HTTPException: the response is none of HTTP's.
        ValueError: it is longer than `most`.
    """
    request = urllib.request.Request(url, data=content, headers=dict(headers), method="POST")
    opener = urllib.request.build_opener(_StayHere, _Http(end), _Https(end))
    left = max(end - time.monotonic(), 0.001)
    with opener.open(request, timeout=min(timeout, left)) as response:
        found: bytes = response.read(most + 1)
    if len(found) > most:
        raise ValueError(f"the response is longer than {most >> 20} MiB")
    return found


class _StayHere(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would carry the key to another host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Make the redirect an error."""
        return


class _Timed(urllib.request.AbstractHTTPHandler):
    """Opens connections whose responses have to be read by a point in time of `time.monotonic`."""

    def __init__(self, end: float) -> None:
        super().__init__()
        self._end = end

    def do_open(self, http_class: Any, req: Any, **options: Any) -> http.client.HTTPResponse:
        def connect(*arguments: Any, **settings: Any) -> Any:
            connection = http_class(*arguments, **settings)
            connection.response_class = partial(_TimedResponse, self._end)
            return connection

        return super().do_open(connect, req, **options)


class _Http(_Timed, urllib.request.HTTPHandler):
    pass


class _Https(_Timed, urllib.request.HTTPSHandler):
    pass


class _TimedResponse(http.client.HTTPResponse):
    """A response whose headers and body end in time, or with a `TimeoutError`."""

    def __init__(self, end: float, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_TimedStream(end, sock, self.fp.detach()))


class _TimedStream(io.RawIOBase):
    """What a socket receives, until a point in time."""

    def __init__(self, end: float, sock: socket.socket, stream: io.RawIOBase) -> None:
        super().__init__()
        self._end, self._socket, self._stream = end, sock, stream
        self._timeout = sock.gettimeout() or math.inf

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the response did not end in time")
        self._socket.settimeout(min(left, self._timeout))
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()

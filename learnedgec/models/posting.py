"""HTTP requests with a deadline.

The time-outs of the standard library start again with each byte, so they never end a request to a server that
sends a byte now and then.
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
        url: address with http or https; proxies are those of the environment.
        content: body of the request.
        headers: headers of the request. Redirects are errors, because they would send the headers to another
            host.
        timeout: seconds without a byte after which the request fails.
        end: deadline of the request, in seconds of `time.monotonic`; it also applies to the bodies of errors.
        most: maximum length of a body in bytes.

    Raises:
        urllib.error.HTTPError: the server answered with an error status.
        OSError: there is no connection, or it is too slow (`TimeoutError`).
        http.client.HTTPException: the response is not valid HTTP.
        ValueError: the response is longer than `most`.
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
    """Handler that rejects redirects, which would send the key to another host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Raise the redirect as an error."""
        return


class _Timed(urllib.request.AbstractHTTPHandler):
    """Handler that opens connections whose responses must be read before a deadline."""

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
    """A response that raises `TimeoutError` if headers or body are not read before the deadline."""

    def __init__(self, end: float, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_TimedStream(end, sock, self.fp.detach()))


class _TimedStream(io.RawIOBase):
    """The bytes that a socket receives before a deadline."""

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

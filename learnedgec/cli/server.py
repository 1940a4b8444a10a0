"""The server of `serve` and `judge`: a socket, and uvicorn until it is stopped."""

from __future__ import annotations

import ipaddress
import re
import signal
import socket
from typing import Any

from learnedgec.errors import ConfigError, needs


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 takes a free port.

    Raises:
        ConfigError: the address is in use, or is not an address of this machine.
    """
    if not 0 <= port < 65536:
        raise ConfigError(f"the port is {port}; give one from 0 to 65535.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        # `create_server` adds the address, which the message has.
        reason = str(getattr(error, "strerror", None) or error).partition(" (while")[0].lower()
        raise ConfigError(
            f"the service cannot listen on {host}, port {port} ({reason}); choose another address or port."
        ) from None


def serve_until_stopped(
    app: Any, listening: socket.socket, *, grace: int = 30, patience: int = 30, root_path: str = ""
) -> None:
    """Serve until SIGINT or SIGTERM, then finish the requests taken so far, and return.

    Args:
        app: an ASGI application; uvicorn, which runs it, has to be installed.
        listening: see `listen`.
        grace: seconds to finish these requests; unfinished ones are then cut off.
        patience: seconds that a client has to send a request; its connection is then closed.
        root_path: the path below which a proxy shows the application, and which the proxy strips.

    Raises:
        ConfigError: the path does not begin with a slash, or ends with one.
        MissingDependencyError: uvicorn is not installed.
    """
    if root_path and not re.fullmatch(r"(?:/[\w.~-]+)+", root_path, re.ASCII):
        raise ConfigError(
            f"the root path is {root_path!r}; a path such as /gec, without a slash at its end, was expected."
        )
    with needs("serve", "the service"):
        import uvicorn

    config = uvicorn.Config(
        app,
        http=_impatient(patience),
        root_path=root_path,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=grace,
    )
    server = uvicorn.Server(config)
    # After it has stopped, the server raises the signal that stopped it again. Ignore this second signal.
    signals = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.signal(number, lambda *_: None) for number in signals]
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in zip(signals, handlers, strict=True):
            signal.signal(number, handler)


def _impatient(seconds: int) -> Any:
    """Return uvicorn's protocol, which waits for a request as long as its client likes, with a limit."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._limit = self.loop.call_later(seconds, self._cut_off)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._limit.cancel()
            self._limit = self.loop.call_later(seconds, self._cut_off)

        def connection_lost(self, exc: Exception | None) -> None:
            self._limit.cancel()
            super().connection_lost(exc)

        def _cut_off(self) -> None:
            # A request that is complete waits for its answer as long as that takes.
            if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
                self.transport.close()

    return Impatient


def address_of(listening: socket.socket) -> tuple[str, bool]:
    """Return the beginning of the URLs that a socket serves, and whether only this machine can reach it."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}", ipaddress.ip_address(host).is_loopback

"""`learnedgec serve`: metrics as a service over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jsonargparse.typing import NonNegativeInt, PositiveInt

from learnedgec.cli import flags, output
from learnedgec.cli.server import address_of, listen, serve_until_stopped
from learnedgec.scoring import bind


@dataclass
class _Service:
    """Options of where the service listens, and what it refuses.

    Attributes:
        host: address to listen on; on any address but loopback, everyone on the network can use the service.
        port: port to listen on; 0: any free port.
        root_path: path below which a proxy shows the service, such as /gec; the proxy strips it.
        patience: seconds that a client has to send a request.
        grace: seconds to finish accepted requests at shutdown.
        request_sentences: maximum number of sentences in a request.
        text_characters: maximum length of a text, in characters.
        waiting_requests: maximum number of requests that are scored or wait at a time; others are refused.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    root_path: str = ""
    patience: PositiveInt = 30
    grace: NonNegativeInt = 30
    request_sentences: PositiveInt = 256
    text_characters: PositiveInt = 4000
    waiting_requests: PositiveInt = 256


def run_serve(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "serve",
        "Serve metrics over HTTP (extra `serve`); the page /docs documents the requests.",
        common="metric host port device dtype jobs cache_dir tokenise",
    )
    flags.add_metrics(parser)
    flags.add_fields(parser, _Service, title="service")
    flags.add_runtime(parser)
    options = parser.parse_args(arguments)
    runtime = replace(flags.read_runtime(options), progress=False)
    metrics = bind(flags.read_metrics(options), runtime)
    flags.introduce_evaluator(metrics, options)
    from learnedgec.applications import serve

    limits = flags.pick(options, "request_sentences", "text_characters", "waiting_requests")
    app = serve.application(metrics, **limits)
    with listen(options.host, options.port) as listening:
        serve.prepare(metrics)
        address, local = address_of(listening)
        if not local:
            output.notice(
                "Everyone who can reach this machine over the network can use the service."
            )
        names = ", ".join(metric.label for metric in metrics)
        output.remark(f"Serving {names} on {address} (/docs); Ctrl-C or SIGTERM ends it.", options)
        how = flags.pick(options, "grace", "patience", "root_path")
        serve_until_stopped(app, listening, **how)
    output.remark("The service has stopped; all accepted requests are finished.", options)

"""`learnedgec serve`: metrics as a service over HTTP."""

from __future__ import annotations

import ipaddress
import os
import signal
from collections.abc import Sequence
from dataclasses import replace

from jsonargparse import ArgumentParser

from learnedgec.cli.options import (
    add_field_arguments,
    add_metric_argument,
    add_runtime_arguments,
    make_parser,
    read_fields,
    read_metrics,
    read_runtime,
)
from learnedgec.cli.output import notice, remark
from learnedgec.errors import ConfigError
from learnedgec.metrics.needs import check_metrics
from learnedgec.use.microbatches import Limits


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec serve`."""
    parser = make_parser(
        "serve", "Serve metrics over HTTP (extra `serve`); the page /docs documents the requests."
    )
    add_metric_argument(parser)
    group = parser.add_argument_group("address")
    group.add_argument(
        "--host",
        type=str,
        default="127.0.0.1",
        help="address to listen on; on any address but loopback, everyone on the network can use the service",
    )
    group.add_argument("--port", type=int, default=8000, help="port to listen on; 0: any free port")
    group.add_argument(
        "--grace", type=int, default=30, help="seconds to finish accepted requests at shutdown"
    )
    group = parser.add_argument_group("limits", "a token counts as four characters here")
    add_field_arguments(group.add_argument, Limits)
    add_runtime_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    if options.grace < 0:
        raise ConfigError(f"--grace is {options.grace}; give 0 seconds or more.")
    metrics = read_metrics(options)
    runtime = replace(read_runtime(options), progress=False)
    check_metrics(metrics, runtime)
    from learnedgec.use import serve

    app = serve.application(metrics, limits=read_fields(Limits, options), runtime=runtime)
    with serve.listen(options.host, options.port) as listening:
        serve.prepare(metrics, runtime)
        host, port = listening.getsockname()[:2]
        if not ipaddress.ip_address(host).is_loopback:
            notice("Everyone who can reach this machine over the network can use the service.")
        names = ", ".join(metric.label for metric in metrics)
        shown = f"[{host}]" if ":" in host else host
        remark(
            f"Serving {names} on http://{shown}:{port} (/docs); Ctrl-C or SIGTERM ends it.", options
        )
        if os.name != "nt":
            # Other commands end a few seconds after SIGTERM; the service has its own grace period.
            signal.set_wakeup_fd(-1)
        serve.run(app, listening, grace=options.grace)
    remark("The service has stopped; all accepted requests are finished.", options)

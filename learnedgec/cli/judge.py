"""`learnedgec judge`: a page that collects human judgements, and the status of a study."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace

from jsonargparse import Namespace

from learnedgec.cli import flags, inputs, output, tables
from learnedgec.cli.server import address_of, listen, serve_until_stopped
from learnedgec.data.text import read_lines, write_text
from learnedgec.errors import InputError
from learnedgec.judging.records import StudySettings
from learnedgec.judging.study import OWNER, Study

_NEW = ("src", "hyp", "ref", "gold", "table", "documents")
_NOT_IMPORTED = (*_NEW[1:], "out", "export", "status")


@dataclass
class _Page(flags.Quiet):
    """Options of what to do with the study.

    Attributes:
        out: folder of the new study.
        overwrite: replace a study, with its judgements, or an exported project.
        export: write the questions as a Label Studio project into this folder, and do not serve them.
        status: print how the study stands, and do not serve it.
        json: print the status as JSON.
        notes: explain below the status what its columns mean.
        host: address to listen on; on any address but loopback, everyone on the network can reach the page.
        port: port to listen on; 0: any free port.
    """

    out: str | None = None
    overwrite: bool = False
    export: str | None = None
    status: bool = False
    json: bool = False
    notes: bool = False
    host: str = "127.0.0.1"
    port: int = 8000


def run_judge(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "judge",
        "Collect human judgements of outputs on a page in the browser (extra `judge`). A new study: judge "
        "--src FILE --hyp FILES --out STUDY. To go on with it: judge STUDY. The study is a folder that every "
        "command reads as a benchmark.",
        common="names src hyp task sentences raters out import export status",
    )
    flags.add_names(parser, "folder of an existing study")
    parser.add_argument(
        "--import",
        nargs="+",
        metavar="FILE",
        help="add judgements to the study, or to a folder with source.txt and systems/: what Label Studio "
        "exports as JSON, XML of Appraise, or CSV tables like rankings.csv and ratings.csv, whose ids number "
        "the lines of --src from 0",
    )
    inputs.add_inputs(parser, documents=True)
    flags.add_fields(parser, StudySettings, title="study")
    flags.add_fields(parser, _Page, title="page")
    options = parser.parse_args(arguments)
    if not options.status:
        flags.check_absent(options, ("json", "notes"), "they are about what --status prints")
    if options["import"]:
        _import(options)
        return
    study = _open_study(options, parser.parse_args(arguments, defaults=False))
    if options.export:
        _export(study, options)
    if options.status:
        _print_status(study, options)
    if options.export or options.status:
        return
    from learnedgec.judging import page

    study.write_tables()
    app = page.application(study)
    with listen(options.host, options.port) as listening:
        address, local = address_of(listening)
        if not local:
            output.notice(
                "Everyone who can reach this machine over the network can open the page with a link."
            )
        for name, token in study.tokens.items():
            print(f"{'status' if name == OWNER else name}  {address}/{token}", flush=True)
        output.remark(f"Serving {study.folder}; Ctrl-C ends it, and nothing is lost.", options)
        serve_until_stopped(app, listening)
    study.update_tables()


def _import(options: Namespace) -> None:
    """Add judgements from files to the study or benchmark that is named."""
    from learnedgec.judging.exchange import import_judgements

    if len(options.names) != 1:
        raise InputError("--import adds judgements to a study or a benchmark; name its folder.")
    flags.check_absent(options, _NOT_IMPORTED, "--import adds judgements and does nothing else")
    numbered = read_lines(options.src) if options.src else None
    for path in options["import"]:
        done = import_judgements(options.names[0], path, numbered)
        parts = [f"{done.new} new judgements in {options.names[0]}", f"{done.known} already known"]
        if done.absent:
            parts.append(f"{done.absent} left out (the sentence is not there)")
        if done.unasked:
            parts.append(f"{done.unasked} left out (the study does not ask about their texts)")
        output.remark(f"{path}: {', '.join(parts)}.", options)


def _export(study: Study, options: Namespace) -> None:
    """Write the project of Label Studio."""
    from learnedgec.judging.exchange import TASKS_FILE, write_project

    output.check_free(Path(options.export) / TASKS_FILE, options)
    count = write_project(study, options.export)
    output.remark(
        f"{options.export}: {count} tasks and the labelling configuration for a project of Label Studio; "
        f"read its JSON export with learnedgec judge {study.folder} --import FILE.",
        options,
    )


def _open_study(options: Namespace, given: Namespace) -> Study:
    """Return the study that is named, or a new one; `given` has no option but those that were given."""
    if options.names:
        if len(options.names) > 1:
            raise InputError(f"{len(options.names)} studies are named; name one.")
        folder = options.names[0]
        if not Path(folder).exists():
            raise InputError(
                f"the folder {folder} does not exist; begin a study with learnedgec judge --src FILE --hyp "
                f"FILES --out {folder}."
            )
        study = Study(folder)
        flags.check_absent(options, _NEW, f"{folder} is a study and has its own texts")
        if options.out:
            raise InputError(
                f"--out is the folder of a new study, and {folder} is a study; leave it out, and write the "
                "status into a file with --status --json > FILE."
            )
        for field in fields(StudySettings):
            name, kept = field.name, getattr(study.settings, field.name)
            if name != "raters" and given.get(name, kept) != kept:
                raise InputError(
                    f"--{name.replace('_', '-')} is for a new study, and {folder} keeps the settings with "
                    f"which it began (here {kept}); leave it out, or begin another study with --out."
                )
        if given.get("raters"):
            study.add_raters(given.raters)
        return study
    if (options.status or options.export) and not (options.hyp or options.table):
        raise InputError(
            "without --hyp, --status and --export are for a study that exists; name its folder, such as "
            "learnedgec judge mystudy --status."
        )
    flags.require(options, out="mystudy")
    texts = inputs.read_inputs(options).corpus
    options.annotator = options.annotator or texts.annotator
    chosen = flags.read_fields(StudySettings, options)
    study = Study.of(options.out, texts, settings=chosen, overwrite=options.overwrite)
    settings = study.settings
    limit = " (all that are possible)" if settings.different < (options.questions or 0) else ""
    output.remark(
        f"{study.folder}: {settings.different} questions{limit} about up to {settings.sentences} sentences, "
        f"{settings.total} items for each rater ({settings.raters}); guidelines.md can be edited.",
        options,
    )
    return study


def _print_status(study: Study, options: Namespace) -> None:
    """Print how the study stands; nothing is written, so that a full disk does not matter."""
    from learnedgec.judging.status import study_status

    status = study_status(study)
    if options.json:
        write_text("-", json.dumps(status.to_dict(), indent=2, ensure_ascii=False) + "\n")
        return
    if not status.ranking:
        output.notice("There are too few judgements to rank the systems.")
    shown_tables = [table for table in status.tables().values() if table.rows]
    text = "\n".join(f"{table.title}\n{table.text()}" for table in shown_tables)
    terms = tables.explain_terms([row for table in shown_tables for row in table.rows], ())
    shown = SimpleNamespace(out="-", notes=options.notes, quiet=options.quiet)
    output.emit_text(text, shown, notes=terms)
    for row in status.raters:
        if row["random"]:
            output.notice(f"{row['rater']} cannot be told from somebody who answers at random.")

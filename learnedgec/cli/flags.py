"""The command-line flags for the Python arguments that messages name."""

from __future__ import annotations

__all__ = ["with_flags"]

_FLAGS = {
    "read it with References.from_m2": "name it with --gold",
    "allow_pickle=True": "--allow-pickle",
    "overwrite=True": "--overwrite",
    "reannotate=True": "--reannotate",
    "resume=True": "--resume",
    "tokenise='spacy'": "--tokenise spacy",
    "tuned_on_test=True": "--tuned-on-test",
}


def with_flags(message: str) -> str:
    """Return a message on one line, with flags for arguments.

    Example:
        >>> with_flags("it is refused; say allow_pickle=True.")
        'it is refused; say --allow-pickle.'
    """
    message = " ".join(message.split())
    for argument, flag in _FLAGS.items():
        message = message.replace(argument, flag)
    return message

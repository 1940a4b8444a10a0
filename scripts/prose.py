"""Look for words of this project's own in the documentation, which a reader would not understand.

    scripts/prose.py [FILE ...]

Code, comments and quoted words are left out. docs/style.md says how to write, and how to quote a word of the
list.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/**/*.md",
    "learnedgec/metrics/cards/*.yaml",
)
# Logs keep their words; what is made from the code is mended there; the page about style quotes bad words.
SKIPPED = re.compile(
    r"docs/(_build|lab|results|style\.md|reference/(api|cli|configuration|metrics)/)"
)

# What this project used to say -> what a reader understands.
WORDS = {
    r"com(e|es|ing) along": "is part of, is installed with",
    r"stands? behind": "is used by",
    r"what (it|they|this) reach(es)?": "results",
    r"go(es)? on from": "continues",
    r"shall": "should, must",
    r"nobody knows": "is unknown",
    r"times the room": "times larger",
    r"rests? on": "depends on, is based on",
    r"prov(es|ed|ing)": "show, evaluate",
    r"at nothing (it|they) should": "cannot judge",
    r"one's own": "your own",
    r"whoever": "a metric that, a person who",
    r"anew": "again",
    r"parameters to try": "number of trials",
    r"(has|have|with) as many": "the same number of",
}
# What is no prose: the front matter, code, comments and the targets of links.
_CODE = re.compile(
    r"\A---\n.*?\n---\n|^( *)(```+|~~~+).*?^\1\2 *$|<!--.*?-->|`[^`\n]*(?:\n[^`\n]+)?`|\]\([^)\s]*\)"
    r"|(?<=\n\n)(?: {4}[^\n]*\n)+",
    flags=re.DOTALL | re.MULTILINE,
)
_QUOTED = "<!-- prose: quoted -->"


def private_words(name: str, text: str) -> list[str]:
    """Return a complaint for each private word in a file."""
    # Newlines stay, so that numbers of lines are right.
    prose = _CODE.sub(lambda match: "\n" * match[0].count("\n"), text)
    return [
        f"{name}:{number}: {match[0]!r}; write: {instead}"
        for number, (line, original) in enumerate(
            zip(prose.split("\n"), text.split("\n"), strict=True), 1
        )
        if _QUOTED not in original
        for pattern, instead in WORDS.items()
        for match in re.finditer(rf"\b{pattern}\b", line, re.IGNORECASE)
    ]


def main() -> int:
    """Check the files, and return the exit code."""
    files = [path for pattern in FILES for path in sorted(ROOT.glob(pattern))]
    files = [path for path in files if not SKIPPED.match(path.relative_to(ROOT).as_posix())]
    complaints = [
        complaint
        for path in [Path(name) for name in sys.argv[1:]] or files
        for complaint in private_words(str(path), path.read_text(encoding="utf-8"))
    ]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The report: one HTML file with scores, edits and sentences of several systems.

- `data`: the content of a report as one value for JSON, and a benchmark's meta-evaluation
- `overview`: systems × metrics, with the significant differences; the meaning of scores and what affects them
- `sentences`: sources, outputs, references and edits, with their scores, and edits by error type
- `page`: the HTML files (`templates/`, `assets/`), with that of a training run
"""

"""Say what each edit of a correction is worth to a metric that reads whole sentences (Shapley values)."""

from learnedgec import attribute_edits, read_lines
from learnedgec.data.catalog import sample_folder

folder = sample_folder()
sources = [read_lines(folder / "source.txt")[number] for number in (0, 2)]
hypotheses = [read_lines(folder / "systems" / "strong.txt")[number] for number in (0, 2)]

attributions = attribute_edits("quality", sources, hypotheses, edits="plain")
for source, sentence in zip(sources, attributions, strict=True):
    print(source)
    print(f"  {sentence.source_score:.3f} as it is, {sentence.score:.3f} corrected, because of")
    words = source.split()
    for edit, worth in zip(sentence.edits, sentence.shapley, strict=True):
        before = " ".join(words[edit.start : edit.end]) or "(nothing)"
        print(f"  {worth:+.3f}  {before} -> {edit.correction or '(nothing)'}")

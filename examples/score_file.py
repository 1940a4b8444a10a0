"""Score one system's output file with two metrics: a learned one without references, and GLEU with them."""

from learnedgec import References, read_lines, score
from learnedgec.data.catalog import sample_folder

folder = sample_folder()  # replace these three by files of your own, one tokenised sentence a line
sources = read_lines(folder / "source.txt")[:24]
hypotheses = read_lines(folder / "systems" / "strong.txt")[:24]
references = References.from_m2(folder / "gold.m2").select(range(24))

scores = score(["quality", "gleu"], sources, hypotheses, references)
for name, result in scores.items():
    print(f"{name}: {result.value:.4f}")
    print(f"  quote it with its signature: {result.signature}")

worst = int(scores["gleu"].sentences.argmin())
print(f"GLEU likes sentence {worst} least ({scores['gleu'].sentences[worst]:.2f}):")
print(f"  source      {sources[worst]}")
print(f"  hypothesis  {hypotheses[worst]}")

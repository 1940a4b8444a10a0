"""Choose the best of several corrections of each sentence, and keep the source where none is safe."""

from learnedgec import Guards, References, read_lines, rerank, score
from learnedgec.data.catalog import sample_folder

folder = sample_folder()
sources = read_lines(folder / "source.txt")[:24]
names = ("careful", "eager", "strong", "weak")
systems = {name: read_lines(folder / "systems" / f"{name}.txt")[:24] for name in names}
references = References.from_m2(folder / "gold.m2").select(range(24))

# In place of systems, the n-best list of one system: a list of candidates for each source.
guards = Guards(fallback="source", longest_edit=3)  # no edit of more than three tokens
by_quality = rerank("quality", sources, systems, guards=guards)

chosen = {
    "one at random": rerank("random", sources, systems).texts,
    "best by quality": by_quality.texts,
    "minimum Bayes risk": rerank("mbr(gleu)", sources, systems).texts,
}
for name, result in score("gleu", sources, chosen, references).items():
    print(f"GLEU {result.value:.3f}  {name}")
for number, place in enumerate(by_quality.chosen[:4]):
    print(f"{names[place] if place >= 0 else 'source':8} {by_quality.texts[number]}")

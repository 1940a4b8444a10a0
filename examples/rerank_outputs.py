"""Choose the best of several corrections of each sentence, and keep the source where none is better."""

from learnedgec import References, read_lines, rerank, score
from learnedgec.catalog import sample_folder
from learnedgec.use.candidates import candidates_of_systems
from learnedgec.use.rerank import Guards

folder = sample_folder()
sources = read_lines(folder / "source.txt")[:16]
names = ("careful", "eager", "weak")
systems = {name: read_lines(folder / "systems" / f"{name}.txt")[:16] for name in names}
references = References.from_m2(folder / "gold.m2").select(range(16))

candidates = candidates_of_systems(systems)  # or the n-best list of one system
by_impara = rerank(sources, candidates, "impara", guards=Guards(fallback="source"))
by_risk = rerank(sources, candidates, "mbr(gleu)")

chosen = {**systems, "best by impara": by_impara.texts, "best by mbr(gleu)": by_risk.texts}
for name, found in score("gleu", sources, chosen, references).items():
    print(f"{found.value:.3f}  {name}")
for number, place in enumerate(by_impara.chosen[:5]):
    print(f"{names[place] if place >= 0 else 'source':8} {by_impara.texts[number]}")

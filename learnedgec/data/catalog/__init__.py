"""Public datasets: their table (`registry`), their local files (`files`), and a reader for each kind."""

from learnedgec.data.catalog.cases import CASES as CASES
from learnedgec.data.catalog.cases import SENTENCES as SENTENCES
from learnedgec.data.catalog.cases import Case as Case
from learnedgec.data.catalog.cases import Labelled as Labelled
from learnedgec.data.catalog.cases import Pair as Pair
from learnedgec.data.catalog.cases import load_cases as load_cases
from learnedgec.data.catalog.cases import load_labelled as load_labelled
from learnedgec.data.catalog.cases import load_sentences as load_sentences
from learnedgec.data.catalog.files import dataset_file as dataset_file
from learnedgec.data.catalog.files import sample_folder as sample_folder
from learnedgec.data.catalog.leakage import overlapping as overlapping
from learnedgec.data.catalog.outputs import OUTPUTS as OUTPUTS
from learnedgec.data.catalog.outputs import RANKINGS as RANKINGS
from learnedgec.data.catalog.outputs import Ranking as Ranking
from learnedgec.data.catalog.outputs import load_outputs as load_outputs
from learnedgec.data.catalog.outputs import load_rankings as load_rankings
from learnedgec.data.catalog.parallel import PARALLEL as PARALLEL
from learnedgec.data.catalog.parallel import Parallel as Parallel
from learnedgec.data.catalog.parallel import load_corrections as load_corrections
from learnedgec.data.catalog.parallel import load_parallel as load_parallel
from learnedgec.data.catalog.ratings import RATINGS as RATINGS
from learnedgec.data.catalog.ratings import Rating as Rating
from learnedgec.data.catalog.ratings import load_ratings as load_ratings
from learnedgec.data.catalog.registry import Dataset as Dataset
from learnedgec.data.catalog.registry import File as File
from learnedgec.data.catalog.registry import dataset as dataset

# Written by scripts/metric_stubs.py from the registry.

from learnedgec.metrics.asano import Asano as Asano
from learnedgec.metrics.bartscore import BartScore as BartScore
from learnedgec.metrics.bertscore import BertScore as BertScore
from learnedgec.metrics.cleme import Cleme as Cleme
from learnedgec.metrics.cleme import Cleme2 as Cleme2
from learnedgec.metrics.ensemble import Ensemble as Ensemble
from learnedgec.metrics.errant import Errant as Errant
from learnedgec.metrics.gleu import Gleu as Gleu
from learnedgec.metrics.gotoscorer import GotoScorer as GotoScorer
from learnedgec.metrics.green import Green as Green
from learnedgec.metrics.head import Head as Head
from learnedgec.metrics.impara import Impara as Impara
from learnedgec.metrics.likelihood import Likelihood as Likelihood
from learnedgec.metrics.llm.edits import LlmE as LlmE
from learnedgec.metrics.llm.sentences import LlmS as LlmS
from learnedgec.metrics.m2 import M2 as M2
from learnedgec.metrics.preference import Preference as Preference
from learnedgec.metrics.pretrained_overlap import PtErrant as PtErrant
from learnedgec.metrics.pretrained_overlap import PtM2 as PtM2
from learnedgec.metrics.scribendi import Scribendi as Scribendi
from learnedgec.metrics.sentinels import Constant as Constant
from learnedgec.metrics.sentinels import EditCount as EditCount
from learnedgec.metrics.sentinels import Length as Length
from learnedgec.metrics.sentinels import Random as Random
from learnedgec.metrics.some import Some as Some
from learnedgec.metrics.uot_errant import UotErrant as UotErrant

"""Agreement of raters, and the highest correlation that a metric can have with them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from learnedgec.stats.correlation import pearson
from learnedgec.types import Floats


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """The agreement of R raters; figures of a pair are means over all pairs of raters.

    Attributes:
        count: items that two raters or more have rated.
        equal: the share of items on which a pair agrees.
        pearson: the correlation of a pair.
        kappa: quadratically weighted κ of a pair, `1 − Σ(a−b)²/E` where E is the expected sum for two raters
            with the same ratings in random order (Cohen 1968); unlike r, it is lower if one rater is more
            lenient.
        leave_one_out: the mean correlation of a rater with the mean of the others, over the items that all
            have rated: the correlation of a metric as good as one rater.
    """

    count: int
    equal: float
    pearson: float
    kappa: float
    leave_one_out: float

    def ceiling(self, raters: int) -> float:
        """Return the noise ceiling: the highest possible correlation with the mean of k = `raters` raters.

        The square root of the mean's reliability `k·r/(1 + (k−1)·r)` (Spearman 1910, Brown 1910), which
        assumes that raters err independently of each other; NaN where r is negative.

        Example:
            >>> round(RaterAgreement(10, 0.5, 0.64, 0.6, 0.7).ceiling(1), 3)
            0.8
        """
        if not self.pearson >= 0:
            return float("nan")
        reliability = raters * self.pearson / (1 + (raters - 1) * self.pearson)
        return float(np.sqrt(reliability))


def rater_agreement(ratings: Floats) -> RaterAgreement:
    """Return the agreement of raters; NaN if no two rated the same items.

    Args:
        ratings: (N, R), NaN where a rater did not rate an item.

    Example:
        >>> rated = rater_agreement(np.array([[1.0, 1.0], [2.0, 3.0], [4.0, 4.0], [3.0, np.nan]]))
        >>> rated.count, round(rated.equal, 3), round(rated.pearson, 3), round(rated.kappa, 3)
        (3, 0.667, 0.929, 0.897)
    """
    rated = ~np.isnan(ratings)
    pairs = []
    for a, b in combinations(range(ratings.shape[1]), 2):
        x, y = ratings[rated[:, a] & rated[:, b]][:, [a, b]].T
        if len(x):
            # The mean of (x_i − y_j)² over all i and j; exactly 0 where all ratings are equal.
            u, v = x - x[0], y - x[0]
            expected = u.var() + v.var() + (u.mean() - v.mean()) ** 2
            kappa = 1 - ((x - y) ** 2).mean() / expected if expected else float("nan")
            pairs.append(((x == y).mean(), float(pearson(x, y)), kappa))
    equal, correlation, weighted = np.mean(pairs, axis=0) if pairs else (float("nan"),) * 3
    complete = ratings[rated.all(axis=1)]
    others = [
        float(pearson(complete[:, rater], np.delete(complete, rater, axis=1).mean(axis=1)))
        for rater in range(ratings.shape[1])
        if len(complete)
    ]
    return RaterAgreement(
        int((rated.sum(axis=1) > 1).sum()),
        float(equal),
        float(correlation),
        float(weighted),
        float(np.mean(others)) if others else float("nan"),
    )

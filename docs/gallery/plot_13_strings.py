"""
A kernel between strings
========================

With ``kernel="precomputed"`` the rows of X are kernel values, so points need not be vectors. This kernel counts the
strings of three letters that two sequences share. Half of the sequences contain a copy of a motif with an error.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from shallows import KernelRidgeClassifier

rng = np.random.default_rng(0)
motif, sequences, y = np.array(list("gattacatca")), [], np.arange(400) % 2
for has_motif in y:
    letters = rng.choice(list("acgt"), 40)
    if has_motif:
        start = rng.integers(30)
        letters[start : start + 10] = motif
        letters[start + rng.integers(10)] = rng.choice(list("acgt"))
    sequences.append("".join(letters))

counts = [Counter(sequence[i : i + 3] for i in range(38)) for sequence in sequences]
K = np.array([[sum(a[part] * b[part] for part in a) for b in counts] for a in counts], float)
train = np.arange(400) < 300
model = KernelRidgeClassifier("precomputed", alpha="auto").fit(K[np.ix_(train, train)], y[train])
print(f"Accuracy: {model.score(K[np.ix_(~train, train)], y[~train]):.2f}")

scores = model.decision_function(K[np.ix_(~train, train)])
plt.hist([scores[y[~train] == 1], scores[y[~train] == 0]], bins=20, label=["with the motif", "without it"])
plt.xlabel("score of a test sequence")
plt.ylabel("sequences")
plt.legend()
plt.tight_layout()
plt.show()

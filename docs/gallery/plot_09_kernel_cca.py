"""
Kernel CCA
==========

Left and right halves of digits are two views of the same thing. Kernel canonical correlation analysis finds functions
of each half that are as correlated as possible.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from shallows.decomposition import DoublyStochasticKernelCCA

images = load_digits().images
left, right = images[:, :, :4].reshape(len(images), -1), images[:, :, 4:].reshape(len(images), -1)
model = DoublyStochasticKernelCCA(n_components=2, random_state=0).fit(left[:1400], right[:1400])
U, V = model.transform(left[1400:], right[1400:])

figure, axes = plt.subplots(1, 2, figsize=(8, 4))
for number, axis in enumerate(axes):
    correlation = np.corrcoef(U[:, number], V[:, number])[0, 1]
    axis.plot(U[:, number], V[:, number], ".", markersize=4)
    axis.set(
        title=f"component {number + 1}: correlation {correlation:.2f}", xlabel="left halves", ylabel="right halves"
    )
plt.tight_layout()
plt.show()

"""
A first fit
===========

Handwritten digits with the defaults. The bandwidth and the regularization are chosen from the training rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay

from shallows import KernelRidgeClassifier

X, y = load_digits(return_X_y=True)
model = KernelRidgeClassifier(random_state=0).fit(X[:1000], y[:1000])

print(f"Accuracy: {model.score(X[1000:], y[1000:]):.3f}")
print(f"Bandwidth: {model.report_['bandwidth']:.1f}, alpha: {model.report_['alpha']:.2g}")

ConfusionMatrixDisplay.from_estimator(model, X[1000:], y[1000:], cmap="Blues", colorbar=False)
plt.title("797 test digits")
plt.tight_layout()
plt.show()

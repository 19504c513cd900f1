"""
Probabilities and calibration
=============================

The scores of kernel ridge regression are no probabilities. ``predict_proba`` converts them, with a temperature that the
fit learns from leave-one-out scores of the training rows. No row is held out.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from shallows import KernelRidgeClassifier

X, y = make_classification(6000, 10, n_informative=5, flip_y=0.2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=3000, random_state=0)

figure, axis = plt.subplots(figsize=(5, 5))
for name, model in {
    "kernel ridge": KernelRidgeClassifier(random_state=0),
    "random forest": RandomForestClassifier(random_state=0),
}.items():
    model.fit(X_train, y_train)
    CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=10, name=name, ax=axis)
axis.set(xlabel="predicted probability of class 1", ylabel="share of class 1")
plt.tight_layout()
plt.show()

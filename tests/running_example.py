"""Small data as a preparation leaves them, for tests of runs."""

import numpy as np

from shallows_papers.datasets import Prepared


def prepared_example(n_train, n_features, n_classes, n_test=100):
    """Clusters of correlated features, one of them a class."""
    rng = np.random.default_rng(0)
    n = n_train + n_test
    labels = np.arange(n) % n_classes
    mixing = rng.normal(size=(n_features, n_features)) / np.sqrt(n_features)
    x = (rng.normal(size=(n, n_features)) + 2.0 * np.eye(n_classes, n_features)[labels]) @ mixing
    x = x.astype(np.float32)
    info = {
        "title": "clusters",
        "task": "classification",
        "n_train": n_train,
        "n_test": n_test,
        "n_features": n_features,
        "sha256": "0" * 64,
        "licence": "none",
        "steps": [],
        "views": None,
    }
    return Prepared(x[:n_train], labels[:n_train], x[n_train:], labels[n_train:], info)


def job_spec(method, parameters, definition, **more):
    """Parameters of the job of a run, as `Plan.job` gives them."""
    return {
        "id": "0123456789",
        "target_ids": ["some_table"],
        "scale": "demo",
        "dataset": "mnist_demo",
        "variant": "unit",
        "method": method,
        "parameters": parameters,
        "seed": 0,
        "marks": [],
        "definition": definition,
        "code": "some code",
        **more,
    }

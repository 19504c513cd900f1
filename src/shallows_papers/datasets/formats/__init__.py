"""Readers of file formats: from verified files to blocks of rows, in the files' own numbers.

`READERS` names the reader of every format of the catalogue: a function ``(dataset, form, paths)`` that opens the files
of a form as the parts "train" and "test", or "all". `shallows_papers.datasets.formats.source` opens a dataset by them.
"""

from __future__ import annotations

from shallows.utils.lazy_tables import LazyTable

#: The reader of every format.
READERS = LazyTable(
    "data format",
    __name__,
    {
        "arff": ".arff:open_parts",
        "arrays": ".arrays:open_parts",
        "cifar_binary": ".cifar:open_parts",
        "cifar_python": ".cifar:open_parts",
        "csv": ".delimited_text:open_parts",
        "idx": ".idx:open_parts",
        "libsvm": ".libsvm:open_parts",
        "qm7": ".matlab:open_qm7",
        "rcv1": ".libsvm:open_rcv1",
        "sarcos": ".matlab:open_sarcos",
        "smiles": ".delimited_text:open_smiles",
        "svhn": ".matlab:open_svhn",
    },
)

"""Readers of file formats. They turn verified files into blocks of rows, with the numbers as in the files.

`READERS` names the reader of every format, a `shallows_papers.datasets.formats.containers.Reader`.
`shallows_papers.datasets.formats.source` uses them to open a dataset.
"""

from __future__ import annotations

from shallows.utils.lazy_tables import LazyTable

#: The reader of every format.
READERS = LazyTable(
    "data format",
    __name__,
    {
        "arff": ".arff:read",
        "arrays": ".arrays:read",
        "cifar_binary": ".cifar:read",
        "csv": ".delimited_text:read",
        "idx": ".idx:read",
        "infimnist": ".infimnist:read",
        "libsvm": ".libsvm:read",
        "qm7": ".matlab:read_qm7",
        "rcv1": ".libsvm:read_rcv1",
        "sarcos": ".matlab:read_sarcos",
        "smiles": ".delimited_text:read_smiles",
        "svhn": ".matlab:read_svhn",
    },
)

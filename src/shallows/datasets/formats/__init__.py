"""Readers of file formats: from verified files to blocks of rows, in the files' own numbers.

`READERS` names the reader of every format of the catalogue: a function ``(dataset, form, paths)`` that opens the files
of a form as the parts "train" and "test", or "all". `shallows.datasets.formats.source` opens a dataset by them.
"""

from __future__ import annotations

#: The reader of every format, as ``"module:function"``.
READERS = {
    "arff": "shallows.datasets.formats.arff:open_parts",
    "arrays": "shallows.datasets.formats.arrays:open_parts",
    "cifar_binary": "shallows.datasets.formats.cifar:open_parts",
    "cifar_python": "shallows.datasets.formats.cifar:open_parts",
    "csv": "shallows.datasets.formats.delimited_text:open_parts",
    "idx": "shallows.datasets.formats.idx:open_parts",
    "libsvm": "shallows.datasets.formats.libsvm:open_parts",
    "qm7": "shallows.datasets.formats.qm7:open_parts",
    "rcv1": "shallows.datasets.formats.rcv1:open_parts",
    "sarcos": "shallows.datasets.formats.sarcos:open_parts",
    "smiles": "shallows.datasets.formats.smiles:open_parts",
    "svhn": "shallows.datasets.formats.svhn:open_parts",
}

import json

import numpy as np
import pytest

from shallows.errors import ShallowsError
from shallows.experiments.running import code, record


@pytest.mark.parametrize(
    ("core", "flags", "warned"),
    [
        ("Haswell", ["avx", "avx2", "avx512bw"], True),
        ("SkylakeX", ["avx", "avx2", "avx512bw"], False),
        ("Haswell", ["avx", "avx2"], False),
        ("Zen", ["avx", "avx2"], False),
        ("Nehalem", ["avx", "avx2"], True),
        ("neoversen1", ["asimd"], False),
        ("unheard-of", ["avx2"], False),
        (None, ["avx2"], False),
    ],
)
def test_a_blas_core_older_than_the_processor_is_warned_of(core, flags, warned):
    assert bool(record.core_warning(core, flags)) is warned


def test_provenance_agrees_with_the_schema():
    schema = json.loads(record.SCHEMA_PATH.read_text())["properties"]
    for part, told in record.provenance().items():
        assert set(told) >= set(schema[part].get("required", ())), part
    assert record.blas()["threads"] >= 1


def test_a_record_that_lacks_something_is_refused_with_its_place():
    with pytest.raises(ShallowsError, match="schema"):
        record.check({"schema_version": 1})


def test_numbers_of_numpy_become_those_of_json():
    told = record.plain({"a": np.float32(0.5), "b": np.arange(2), "c": (np.int64(1),), "d": float("nan"), "e": None})
    assert json.loads(json.dumps(told)) == {"a": 0.5, "b": [0, 1], "c": [1], "d": "nan", "e": None}


def test_peak_memory_is_that_since_the_reset():
    record.reset_peak_memory()
    before = record.peak_memory()
    block = np.ones(20_000_000)
    block += 1
    assert record.peak_memory() >= before + 100_000_000


def test_the_digest_of_code_ignores_comments_and_sees_changes(tmp_path):
    def digest(text):
        (tmp_path / "metrics").mkdir(exist_ok=True)
        (tmp_path / "report").mkdir(exist_ok=True)
        (tmp_path / "report" / "a.py").write_text(text)
        code.version_of.cache_clear()
        return code.version_of("report", tmp_path)

    plain = digest("def f(x):\n    return x + 1\n")
    assert digest('"""Words."""\n\n\ndef f( x ):\n    """More."""\n    return x + 1  # why\n') != digest(
        "def f(x):\n    return x + 2\n"
    )
    assert digest("def f( x ):\n    return x + 1  # why\n") == plain
    assert digest("def f(x):\n    return x + 2\n") != plain


@pytest.mark.parametrize("kept", [None, "no JSON", "[]", "{}"])
def test_a_digest_is_the_same_whatever_was_kept_of_it(tmp_path, monkeypatch, kept):
    before = code.version_of("tables")
    monkeypatch.setattr(code, "_KEPT", tmp_path / "kept" / "meanings.json")
    if kept is not None:
        code._KEPT.parent.mkdir()
        code._KEPT.write_text(kept)
    for _ in range(2):  # once without, once with what the first left
        code.version_of.cache_clear()
        code._meanings.cache_clear()
        assert code.version_of("tables") == before
    assert json.loads(code._KEPT.read_text())
    code._meanings.cache_clear()

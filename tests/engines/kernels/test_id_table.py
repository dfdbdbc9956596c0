"""The table of ids: numbers in the order of first occurrence, as a dict of Python's gives them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._engines import CpuEngine
from dfmst._engines.primitives import id_table
from dfmst._engines.primitives.id_table import PROCESS_KEYS, HashKeys, IdTable, IdWords, hash_texts, number_few
from tests.support.lanes import examples

INTEGERS = st.integers(0, 2**64 - 1) | st.integers(0, 50) | st.integers(2**64 - 50, 2**64 - 1)
TEXTS = st.binary(max_size=40) | st.sampled_from([b"", b"a", b"a\0", b"12345678", b"123456789", b"12345678" * 9])

threads = pytest.mark.parametrize("engine", [CpuEngine(n) for n in (1, 2, 3, 7)], ids="threads={0.threads}".format)


def texts(values: list[bytes]) -> IdWords:
    """Texts as a kernel reads them, not at the beginning of their column."""
    ends = 3 + np.cumsum([0, *map(len, values)], dtype=np.uint64)
    text = np.frombuffer(b"xyz" + b"".join(values), np.uint8).copy()  # of exactly that length, for the sanitizers
    return IdWords(None, ends.astype(np.uint64), text)


def integers(values: list[int]) -> IdWords:
    return IdWords(np.array(values, np.uint64))


def check(table: IdTable, batches, words) -> None:
    """Encode batches, and compare with a dict after each."""
    numbers: dict[object, int] = {}
    for batch in batches:
        expected = [numbers.setdefault(value, len(numbers)) for value in batch]
        assert table.encode(words(batch)).tolist() == expected
        assert table.encode(words(batch)).tolist() == expected
    assert table.count == len(numbers)


@threads
@examples(60)
@given(batches=st.lists(st.lists(INTEGERS, max_size=60), max_size=6))
def test_integers(engine, batches):
    table = IdTable(engine, texts=False)
    check(table, batches, integers)
    assert table.known.tolist() == list(dict.fromkeys(value for batch in batches for value in batch))


@threads
@examples(60)
@given(batches=st.lists(st.lists(TEXTS, max_size=40), max_size=6))
def test_texts(engine, batches):
    table = IdTable(engine, texts=True)
    check(table, batches, texts)
    distinct = dict.fromkeys(value for batch in batches for value in batch)
    assert table.content.tobytes() == b"".join(distinct)
    assert table.known.tolist() == np.cumsum([0, *map(len, distinct)]).tolist()


@threads
@pytest.mark.parametrize("values", [12, 300])
def test_texts_with_equal_hashes(engine, values, monkeypatch):
    """The bytes decide between few such texts; many get other keys."""

    def colliding(engine, offset, content, keys):
        return hash_texts(engine, offset, content, keys) if keys != PROCESS_KEYS else np.diff(offset) * np.uint64(0)

    monkeypatch.setattr(id_table, "hash_texts", colliding)
    rng = np.random.default_rng(5)
    check(IdTable(engine, texts=True), [[b"%d" % v for v in rng.integers(0, values, 400)] for _ in range(4)], texts)


def test_short_texts_have_different_hashes():
    words = texts([b"v%d" % value for value in range(100_000)]).hashed(CpuEngine(1), PROCESS_KEYS).word
    assert words is not None
    assert len(np.unique(words)) == len(words)
    assert len(np.unique(words & np.uint64((1 << 32) - 1))) > 0.999 * len(words)


@threads
@pytest.mark.parametrize("kind", ["integers", "texts"])
def test_growth(engine, kind):
    rng = np.random.default_rng(7)
    draws = [rng.integers(0, 40_000, length) * 7919**3 for length in (10, 40_000, 1, 70_000, 0, 3_000)]
    if kind == "integers":
        check(IdTable(engine, texts=False), [draw.tolist() for draw in draws], integers)
    else:
        check(IdTable(engine, texts=True), [[b"%d" % value for value in draw] for draw in draws], texts)


@threads
@pytest.mark.parametrize("kind", ["integers", "texts"])
def test_a_table_of_known_ids(engine, kind):
    values = [7919**3 * value for value in range(5_000)]
    ids = integers(values) if kind == "integers" else texts([b"%d" % value for value in values])
    table = IdTable.of_distinct(engine, ids)
    assert table.encode(ids).tolist() == list(range(5_000))
    more = integers([3, 0]) if kind == "integers" else texts([b"3", b"0"])
    assert table.encode(more).tolist() == [5_000, 0]


def mixed(word: int, keys: HashKeys) -> int:
    """The hash of a word, as the kernels have it."""
    product = ((keys.high << 64 | keys.low) * word >> 64) % 2**64
    return (product ^ product >> 32) * 0xD6E8FEB86659FD93 % 2**64


KEYS = HashKeys(0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)


@threads
@pytest.mark.parametrize("line", [0, 60, 127])
def test_more_ids_of_a_line_than_it_has_slots(engine, line, monkeypatch):
    """A table of 1,024 slots has 128 lines; the walk from the last one goes on at the first."""
    monkeypatch.setattr(id_table, "PROCESS_KEYS", KEYS)
    crowd = [word for word in range(6_000) if mixed(word, KEYS) >> 57 == line][:30]
    assert len(crowd) == 30
    others = list(range(10_000, 10_400))
    rng = np.random.default_rng(line)
    batches = [crowd[:9], rng.permutation(crowd + others).tolist(), crowd[::-1]]
    check(IdTable(engine, texts=False), batches, integers)


def colliding_integers(count: int, keys: HashKeys) -> list[int]:
    """Ids whose hashes begin with the same 10 bits: their first slot is the same in tables of up to 8,192 slots."""
    words = np.arange(1 << 20, dtype=np.uint64) * np.uint64(7919**3)
    product = _high_half(words, keys.low) + words * np.uint64(keys.high)
    hashes = (product ^ product >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    crowd = words[hashes >> np.uint64(54) == 5]
    assert len(crowd) >= count
    return crowd[:count].tolist()


def _high_half(words: np.ndarray, factor: int) -> np.ndarray:
    half, low = np.uint64(32), np.uint64((1 << 32) - 1)
    a, b, c, d = words >> half, words & low, np.uint64(factor >> 32), np.uint64(factor & 0xFFFFFFFF)
    middle = a * d + (b * d >> half)
    return a * c + (middle >> half) + ((middle & low) + b * c >> half)


@threads
def test_ids_that_collide_under_known_keys(engine, monkeypatch):
    """Whoever knows the keys of a process can make walks long once: the table then has other keys."""
    monkeypatch.setattr(id_table, "PROCESS_KEYS", KEYS)
    drawn: list[HashKeys] = []
    crowd = colliding_integers(900, KEYS)

    def draw() -> HashKeys:
        drawn.append(HashKeys(3 * KEYS.low % 2**64, 5 * KEYS.high % 2**64))
        return drawn[-1]

    monkeypatch.setattr(HashKeys, "drawn", draw)
    monkeypatch.setattr(id_table, "_LEAST_SLOTS", 6_000)
    for others in ([], list(range(10**9, 10**9 + 500))):
        drawn.clear()
        check(IdTable(engine, texts=False), [others, crowd[:200], crowd, crowd[::-1]], integers)
        assert len(drawn) == 1
        drawn.clear()
        table = IdTable.of_distinct(engine, integers(others + crowd))
        assert table.encode(integers(crowd)).tolist() == list(range(len(others), len(others) + 900))
        assert len(drawn) == 1
    drawn.clear()
    check_few([*crowd, *crowd], integers(crowd * 2))
    assert len(drawn) == 1


def test_memory_of_integers():
    table = IdTable(CpuEngine(), texts=False)
    for begin in range(0, 400_000, 50_000):
        table.encode(IdWords(np.arange(begin, begin + 50_000, dtype=np.uint64)))
        assert 18 < table.nbytes / table.count < 28 or begin == 0


def check_few(values: list[object], words: IdWords) -> None:
    """Number a list by one thread, and compare with a dict."""
    numbers: dict[object, int] = {}
    expected = [numbers.setdefault(value, len(numbers)) for value in values]
    number, first = number_few(CpuEngine(1), words)
    assert number.tolist() == expected
    assert first.tolist() == [values.index(value) for value in numbers]


@examples(60)
@given(st.lists(INTEGERS, max_size=60), st.lists(TEXTS, max_size=40))
def test_few(some, others):
    check_few(some, integers(some))
    wide = texts(others)
    check_few(others, wide)
    check_few(others, IdWords(None, wide.offset.astype(np.uint32), wide.content))


def test_few_in_a_scratch():
    draw = np.random.default_rng(3).integers(0, 9_000, 20_000)
    check_few(draw.tolist(), integers(draw.tolist()))

"""Near-duplicates of a corpus by MinHash: bands of hashes link documents, and one document of each group is kept.

The corpus is generated: some documents are copies of others with a few words changed. `python examples/llm_dedup.py .
1000000` makes a million of them.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import dfmst

WORDS, SHINGLE = 50_000, 3  # words of the language, and words that are hashed together
BANDS, ROWS = 8, 4  # documents whose shingles agree by 80 % share a band with probability 0.99
PIECE = 50_000  # documents at a time


def corpus(documents: int, rng: np.random.Generator) -> tuple[pa.Array, np.ndarray]:
    """Return texts, and the original of each: a tenth are copies in which about one word in 50 is another."""
    lengths = rng.integers(40, 80, documents)
    copied = np.flatnonzero(rng.random(documents) < 0.1)
    original = np.arange(documents)
    originals = np.setdiff1d(original, copied)
    original[copied] = rng.choice(originals, len(copied))
    lengths = lengths[original]
    ends = np.cumsum(lengths)
    words = rng.integers(0, WORDS, ends[-1]).astype(np.int32)
    for copy in copied:
        source = original[copy]
        words[ends[copy] - lengths[copy] : ends[copy]] = words[ends[source] - lengths[source] : ends[source]]
    changed = rng.random(len(words)) < 0.02 * np.repeat(original != np.arange(documents), lengths)
    words[changed] = rng.integers(0, WORDS, int(changed.sum()))
    language = pa.array([f"w{word}" for word in range(WORDS)])
    offsets = pa.array(np.concatenate([[0], ends]).astype(np.int32))
    lists = pa.ListArray.from_arrays(
        offsets, pa.DictionaryArray.from_arrays(pa.array(words), language).cast(pa.string())
    )
    return pc.binary_join(lists, " "), original


def mixed(word: np.ndarray) -> np.ndarray:
    """Mix 64 bits, each of which changes all of them."""
    word = (word ^ (word >> np.uint64(31))) * np.uint64(0x7FB5D329728EA185)
    word ^= word >> np.uint64(27)
    return word


def bands(texts: pa.Array) -> pa.Array:
    """Return the MinHash bands of texts: a list of hashes each, of which equal ones are of one band."""
    split = pc.split_pattern(texts, " ")
    codes = split.flatten().dictionary_encode()
    # A word's hash is made of its letters: codes would differ between pieces.
    letters = np.array(
        [int.from_bytes(word.encode()[:8], "little") for word in codes.dictionary.to_pylist()], np.uint64
    )
    word = mixed(letters)[codes.indices.to_numpy()]
    shingle = word[: 1 - SHINGLE].copy()
    for place in range(1, SHINGLE):
        shingle = mixed(shingle) + word[place : len(word) + 1 - SHINGLE + place]
    begins = split.offsets.to_numpy()[:-1] - split.offsets[0].as_py()
    lengths = np.diff(split.offsets.to_numpy())
    inside = np.arange(len(shingle)) - np.repeat(begins, lengths)[: len(shingle)]
    shingle = shingle[inside <= np.repeat(lengths, lengths)[: len(shingle)] - SHINGLE]
    begins = np.concatenate([[0], np.cumsum(lengths - SHINGLE + 1)[:-1]])
    factors = np.random.default_rng(7).integers(1, 1 << 62, BANDS * ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    columns = []
    for band in range(BANDS):
        joined = np.full(len(begins), band, np.uint64)
        for factor in factors[band * ROWS : (band + 1) * ROWS]:
            joined = mixed(joined) + np.minimum.reduceat(shingle * factor, begins)
        columns.append(mixed(joined))
    flat = np.stack(columns, axis=1).ravel()
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), BANDS)


def main(folder: Path, documents: int = 20_000) -> tuple[int, int, float]:
    folder.mkdir(parents=True, exist_ok=True)
    texts, original = corpus(documents, np.random.default_rng(0))
    begin = time.perf_counter()
    pieces = [bands(texts.slice(at, PIECE)) for at in range(0, documents, PIECE)]
    hashed = time.perf_counter()
    table = pa.table({"text": texts, "length": pc.utf8_length(texts), "bands": pa.chunked_array(pieces)})
    unique = dfmst.linked_rows(table, on="bands", max_group=1000, keep=("length", "max"))
    linked = time.perf_counter()
    pq.write_table(unique.drop(["bands"]), folder / "unique.parquet")

    group = np.asarray(dfmst.linked_rows(table, on="bands", max_group=1000)["group"])
    copies = original != np.arange(documents)
    found = float((group[copies] == group[original[copies]]).mean())
    print(f"{documents:,} documents: {hashed - begin:.1f} s for bands, {linked - hashed:.1f} s for groups")
    print(f"{len(unique):,} kept; {100 * found:.2f} % of {copies.sum():,} copies are in the group of their original")
    return documents, len(unique), found


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."), *map(int, sys.argv[2:]))

"""Copies of the attention: the same function, and nothing of it can be mixed up or lost unseen."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from fixtures.canary import CANARY_DIR
from fixtures.canary.checkpoint import (
    Array,
    narrow_to_bfloat16,
    read_json,
    read_text_config,
    read_weights,
    write_weights,
)
from fixtures.canary.export import cached_gguf
from fixtures.canary.widen import COPIES, SHARES, cached_wide, widened_attention

STOCK = CANARY_DIR / "stock"
QUERIES, DIMENSION, HIDDEN, LENGTH = 5, 16, 24, 12
Layer = tuple[Array, Array, Array, Array]


@pytest.fixture
def layer() -> Layer:
    """Projections of 5 query heads and 1 key-value head, as the stock canary has."""
    random = np.random.default_rng(1)
    shapes = [(QUERIES * DIMENSION, HIDDEN), (DIMENSION, HIDDEN), (DIMENSION, HIDDEN)]
    made = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    return made[0], made[1], made[2], random.normal(size=(HIDDEN, shapes[0][0])).astype(np.float32)


@pytest.fixture
def wide(layer: Layer) -> Layer:
    return widened_attention(*layer, dimension=DIMENSION, seed=0)


def rotated(x: Array) -> Array:
    """Adjacent pairs turned by position: x (length, heads, dimension)."""
    rates = 10000.0 ** (-np.arange(0, DIMENSION, 2) / DIMENSION)
    angles = (np.arange(LENGTH)[:, None] * rates)[:, None]
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = (
        even * np.cos(angles) - odd * np.sin(angles),
        even * np.sin(angles) + odd * np.cos(angles),
    )
    return np.stack(turned, -1).reshape(x.shape)


def normed(x: Array) -> Array:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)


def attention(layer: Layer, *, rope: bool = True) -> Array:
    """One causal layer's output (length, hidden) for fixed hidden states."""
    states = np.random.default_rng(2).normal(size=(LENGTH, HIDDEN))
    query, key, value = ((states @ w.T).reshape(LENGTH, -1, DIMENSION) for w in layer[:3])
    if rope:
        query, key = normed(rotated(query)), normed(rotated(key))
    group = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, group, 1), np.repeat(value, group, 1)
    scores = np.einsum("ihd,jhd->hij", query, key) / np.sqrt(DIMENSION)
    scores = np.where(np.tril(np.ones((LENGTH, LENGTH), bool)), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    out: Array = np.einsum("hij,jhd->ihd", shares, value).reshape(LENGTH, -1) @ layer[3].T
    return out


def difference(found: Array, wanted: Array) -> float:
    """Relative to the size of ``wanted``."""
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def part(wide: Layer, rank: int, size: int) -> Layer:
    """What one of ``size`` GPUs holds: contiguous heads, and the output's columns for them."""
    query, key, value, output = wide
    rows = [np.split(weight, size)[rank] for weight in (query, key, value)]
    return rows[0], rows[1], rows[2], np.split(output, size, axis=1)[rank]


@pytest.mark.parametrize("rope", [True, False])
def test_the_output_is_that_of_the_original(layer: Layer, wide: Layer, rope: bool) -> None:
    assert wide[0].shape == (COPIES * QUERIES * DIMENSION, HIDDEN)
    assert difference(attention(wide, rope=rope), attention(layer, rope=rope)) < 1e-5


@pytest.mark.parametrize("size", [2, 4, 8])
def test_the_parts_of_every_split_add_up_to_the_whole(layer: Layer, wide: Layer, size: int) -> None:
    parts = [attention(part(wide, rank, size)) for rank in range(size)]
    assert difference(sum(parts), attention(layer)) < 1e-5


@pytest.mark.parametrize("size", [2, 4, 8])
def test_a_part_that_is_lost_leaves_half_of_the_attention_or_less_or_twice_or_more(
    layer: Layer, wide: Layer, size: int
) -> None:
    whole = attention(layer)
    for rank, share in enumerate(SHARES.reshape(size, -1).sum(1)):
        assert 1 - share <= 0.5 or 1 - share >= 2
        left = whole - attention(part(wide, rank, size))
        assert np.allclose(left, (1 - share) * whole, atol=1e-4)


@pytest.mark.parametrize("rope", [True, False])
def test_every_query_head_on_another_copys_key_value_head_gives_garbage(
    layer: Layer, wide: Layer, rope: bool
) -> None:
    query, key, value, output = wide
    wrong = (query, np.roll(key, DIMENSION, axis=0), np.roll(value, DIMENSION, axis=0), output)
    assert difference(attention(wrong, rope=rope), attention(layer, rope=rope)) > 1


@pytest.mark.parametrize("index", [0, 1, 2], ids=["query", "key", "value"])
def test_one_projection_of_two_copies_in_each_others_place_is_seen(
    layer: Layer, wide: Layer, index: int
) -> None:
    parts = np.split(wide[index], COPIES)
    mixed = list(wide)
    mixed[index] = np.concatenate([parts[1], parts[0], *parts[2:]])
    query, key, value, output = mixed
    assert difference(attention((query, key, value, output)), attention(layer)) > 0.2


def test_shares_are_powers_of_two_whose_sum_is_one() -> None:
    assert (len(SHARES), SHARES.sum()) == (COPIES, 1)
    assert set(np.frexp(np.abs(SHARES))[0]) == {0.5}


def test_the_folder_differs_from_its_source_in_attention_alone(tmp_path: Path) -> None:
    folder = cached_wide(STOCK, tmp_path)
    source, made = read_weights(STOCK), read_weights(folder)
    assert made.keys() == source.keys()
    changed = {name for name in made if not np.array_equal(made[name], source[name])}
    assert changed == {name for name in made if "self_attn" in name}
    for name in changed:  # each copy holds the original's values, but for place, sign and share
        values = np.abs(made[name])
        copies = np.split(values, COPIES, axis=1 if "o_proj" in name else 0)
        shares = np.abs(SHARES) if "o_proj" in name else np.ones(COPIES)
        for copy, share in zip(copies, shares, strict=True):
            assert np.array_equal(np.sort(copy, None), np.sort(np.abs(source[name] * share), None))
    config, before = read_json(folder / "config.json"), read_json(STOCK / "config.json")
    text = config["text_config"]
    assert (text["num_attention_heads"], text["num_key_value_heads"]) == (40, 8)
    before["text_config"] |= {"num_attention_heads": 40, "num_key_value_heads": 8}
    assert config == before
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        assert (folder / name).read_bytes() == (STOCK / name).read_bytes()


def test_other_readers_read_the_folder_too(tmp_path: Path) -> None:
    folder = cached_wide(STOCK, tmp_path)
    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        names = list(file.keys())
        assert file.metadata() == {"format": "pt"}
        assert {file.get_slice(name).get_dtype() for name in names} == {"BF16"}
        shape = file.get_slice("language_model.model.layers.0.self_attn.q_proj.weight").get_shape()
    assert shape == [40 * 128, 256]
    assert cached_gguf(folder, tmp_path).is_file()


def test_every_size_divides_by_eight() -> None:
    config: dict[str, Any] = read_text_config(STOCK)
    for name in ("vocab_size", "hidden_size", "intermediate_size", "intermediate_size_mlp"):
        assert config[name] % 8 == 0


def test_the_cache_gives_the_same_folder_also_to_those_who_ask_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        folders = list(pool.map(lambda _: cached_wide(STOCK, tmp_path), range(3)))
    assert list(tmp_path.iterdir()) == [folders[0]]
    written = (folders[0] / "model.safetensors").stat().st_mtime_ns
    assert cached_wide(STOCK, tmp_path) == folders[0]
    assert (folders[0] / "model.safetensors").stat().st_mtime_ns == written


def test_weights_that_were_written_are_read_as_they_were(tmp_path: Path) -> None:
    source = read_weights(STOCK)
    write_weights(tmp_path / "model.safetensors", source)
    found = read_weights(tmp_path)
    assert list(found) == list(source)
    assert all(np.array_equal(found[name], source[name]) for name in source)
    header = (tmp_path / "model.safetensors").read_bytes()
    assert (8 + int.from_bytes(header[:8], "little")) % 8 == 0
    assert json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])["__metadata__"]


def test_what_is_no_bfloat16_is_refused_and_not_rounded() -> None:
    assert narrow_to_bfloat16(np.array([1.0, -3.0], np.float32)) == b"\x80\x3f\x40\xc0"
    with pytest.raises(ValueError, match="no bfloat16"):
        narrow_to_bfloat16(np.array([1.001], np.float32))

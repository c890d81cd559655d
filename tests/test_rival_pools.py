"""What the docs promise of pools in shards, against brute force."""

import itertools
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

import labelwise as lw
from labelwise.data import ShardedFeatures
from labelwise.numerics.information import (
    ArrayBlock,
    LowRankBlocks,
    StreamedInformation,
    array_blocks,
    greedy_information,
)
from rest_slow import rest_slow
from rival_brute import CRITERIA, Brute, asked, campaign_over, in_another_process, rivals


@pytest.mark.parametrize("part", rest_slow(range(8)))
def test_picks_in_several_calls_are_those_of_brute_force(part):
    for seed in range(12 * part, 12 * part + 12):
        brute, matrix, settings, rng = rivals(seed)
        state = StreamedInformation(matrix, **settings)
        for _ in range(int(rng.integers(1, 4))):
            n = int(rng.integers(brute.n // 2 + 2))
            brute.assert_right(state.pick(n, stop_when_not_positive=True), n, stop=settings["criterion"] != "entropy")
        if settings["criterion"] != "mi_fixed_rest":
            expected, left = np.full(brute.n, -np.inf), brute.open()
            if len(left):
                expected[left] = brute.gains()[left]
            np.testing.assert_allclose(state.gains(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("part", rest_slow(range(4)))
@pytest.mark.slow
def test_picks_after_the_last_positive_gain_go_by_entropy(part):
    for seed in range(400 + 25 * part, 415 + 25 * part):
        brute, matrix, settings, _ = rivals(seed)
        brute.assert_right(greedy_information(matrix, brute.n, **settings), brute.n)


@pytest.mark.parametrize("criterion", ["mi", "mi_fixed_rest"])
@pytest.mark.parametrize("held", [None, 1, 2, 3])
def test_without_any_gain_the_most_uncertain_come_first(criterion, held):
    blocks = array_blocks(np.diag([0.0, 1.0, 2.0]), 0.3, size=2)
    picks = greedy_information(LowRankBlocks(blocks, n_candidates=held), 3, criterion=criterion)
    assert picks.indices.tolist() == [2, 1, 0] and picks.n_by_criterion == 0


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("held", [None, 1, 3])
def test_what_was_taken_is_not_picked_again(criterion, held):
    F = np.random.default_rng(0).normal(size=(12, 2))
    again = []
    for index in range(12):
        state = StreamedInformation(LowRankBlocks(array_blocks(F, 0.3, size=3), n_candidates=held), criterion=criterion)
        state.take(index)
        if index in state.pick(11).indices:
            again.append(index)
    assert again == []


@pytest.mark.parametrize("part", rest_slow(range(4)))
def test_picks_after_take_are_those_of_brute_force(part):
    for seed in range(800 + 15 * part, 815 + 15 * part):
        brute, matrix, settings, rng = rivals(seed)
        state = StreamedInformation(matrix, **settings)
        for _ in range(3):
            if len(left := brute.open()):
                index = int(rng.choice(left))
                brute.take(index)
                state.take(index)
            n = int(rng.integers(brute.n // 4 + 2))
            brute.assert_right(state.pick(n, stop_when_not_positive=True), n, stop=settings["criterion"] != "entropy")


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("dtype", rest_slow([np.float32, np.float64]))
@pytest.mark.parametrize("made", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_hundreds_of_tiny_blocks_in_a_sorted_pool(criterion, dtype, made):
    rng = np.random.default_rng(5)
    F = rng.normal(size=(600, 8)) * (rng.random((600, 8)) < 0.5) * rng.gamma(0.5, size=(600, 1))
    F = F[np.argsort(np.linalg.norm(F, axis=1))].astype(dtype)  # all good rows are in the last blocks
    noise, edges = rng.uniform(0.1, 1, 600), np.r_[0, np.cumsum(rng.integers(1, 6, 600))]
    edges = np.r_[edges[edges < 600], 600]
    blocks = [ArrayBlock(int(a), made(F[a:b]), noise[a:b]) for a, b in itertools.pairwise(edges)]
    assert len(blocks) > 150
    for held in (3, 40):
        brute = Brute(F, noise, criterion=criterion, given=[599, 0])
        picks = greedy_information(LowRankBlocks(blocks, n_candidates=held), 15, criterion=criterion, given=[599, 0])
        brute.assert_right(picks, 15)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_of_equal_rows_the_first_is_picked(criterion):
    F = np.tile(np.random.default_rng(2).normal(size=(4, 3)), (25, 1)).astype(np.float32)
    for size, held in [(1, 1), (3, 2), (7, None), (100, 5)]:
        matrix = LowRankBlocks(array_blocks(F, 0.5, size=size), n_candidates=held)
        picks = greedy_information(matrix, 12, criterion=criterion)
        Brute(F, 0.5, criterion=criterion).assert_right(picks, 12)
        assert picks.indices[0] < 4


def test_blocks_read_from_shards_of_every_kind(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra io")
    pa = pytest.importorskip("pyarrow", reason="needs the extra io")
    F = np.random.default_rng(3).normal(size=(90, 5)).astype(np.float32)
    brute = Brute(F, 0.2).C
    for kind in ("npy", "npz", "sparse", "parquet", "lists"):
        paths = [tmp_path / f"{kind}{number}.{'npz' if kind == 'sparse' else kind}" for number in range(3)]
        for number, path in enumerate(paths):
            rows = F[30 * number : 30 * number + 30]
            if kind == "npy":
                np.save(path, rows)
            elif kind == "npz":
                np.savez(path, rows)
            elif kind == "sparse":
                sp.save_npz(path, sp.csr_array(rows))
            elif kind == "parquet":
                columns = {f"f{j}": rows[:, j] for j in range(5)}
                pq.write_table(pa.table(columns), path, row_group_size=7)
            else:
                paths[number] = path = path.with_suffix(".parquet")
                pq.write_table(pa.table({"x": [row.tolist() for row in rows]}), path, row_group_size=7)
        X = ShardedFeatures.open(paths)
        assert X.shape == (90, 5)
        read = X[[89, 3, 45, 3]]
        np.testing.assert_allclose(read.toarray() if sp.issparse(read) else read, F[[89, 3, 45, 3]], rtol=1e-6)
        walked = [(where, rows) for where, rows in X.blocks(11)]
        assert [where.start for where, _ in walked[1:]] == [where.stop for where, _ in walked[:-1]]
        blocks = [ArrayBlock(where.start, rows, np.full(rows.shape[0], 0.2)) for where, rows in walked]
        picks = greedy_information(LowRankBlocks(blocks, n_candidates=4), 20)
        assert picks.indices.tolist() == greedy_information(brute, 20).indices.tolist(), kind


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_campaign_on_shards_asks_what_one_in_memory_asks(criterion, kernel):
    X = np.random.default_rng(4).normal(size=(300, 5)).round(1).astype(np.float32)
    strategy = lw.MutualInformation(criterion=criterion, max_dense=60, rank=20)
    shards = ShardedFeatures.of(*np.array_split(X, 7))
    expected = asked(campaign_over(X, strategy, lw.LabelGP(kernel)))
    assert asked(campaign_over(shards, strategy, lw.LabelGP(kernel))) == expected


@pytest.mark.slow
def test_sparse_columns_are_converted_or_refused():
    script = """
    import numpy as np, scipy.sparse as sp
    from labelwise.numerics.information import LowRankBlocks, array_blocks, greedy_information
    F = np.random.default_rng(0).normal(size=(12, 2))
    right = greedy_information(LowRankBlocks(array_blocks(F, 0.3, size=3)), 3).indices.tolist()
    for _ in range(5):
        try:
            found = greedy_information(LowRankBlocks(array_blocks(sp.csc_array(F), 0.3, size=3)), 3).indices.tolist()
        except (TypeError, ValueError):
            continue
        assert found == right, found
    """
    process = in_another_process(script)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 0, told


def test_blocks_of_different_widths_are_refused():
    F = np.random.default_rng(0).normal(size=(12, 2))
    blocks = [ArrayBlock(0, F[:5], np.full(5, 0.3)), ArrayBlock(5, F[5:, :1], np.full(7, 0.3))]
    with pytest.raises(ValueError, match=r"features|columns|width"):
        greedy_information(LowRankBlocks(blocks), 3)


def test_a_negative_number_of_candidates_is_refused():
    process = in_another_process("""
    import numpy as np
    from labelwise.numerics.information import LowRankBlocks, array_blocks, greedy_information
    greedy_information(LowRankBlocks(array_blocks(np.eye(4), 0.3, size=2), n_candidates=-3), 2)
    """)
    try:
        error = process.communicate(timeout=5)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail("still running after five seconds")
    assert "ValueError" in error and "-3" in error


@pytest.mark.parametrize(
    ("pool", "settings", "named"),
    [
        ({"in_pool": np.arange(4) != 2}, {"given": [2]}, "given"),
        ({"in_pool": np.ones(3, dtype=bool)}, {}, "in_pool"),
        ({"known_gram": np.eye(3)}, {}, "known_gram"),
        ({"known_gram": -5 * np.eye(4)}, {}, "known_gram"),
        ({"known_gram": np.full((4, 4), np.nan)}, {}, "known_gram"),
    ],
)
def test_what_cannot_be_meant_is_named(pool, settings, named):
    with pytest.raises(ValueError, match=named):
        greedy_information(LowRankBlocks(array_blocks(np.eye(4), 0.3, size=2), **pool), 2, **settings)

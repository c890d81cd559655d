"""Greedy information over blocks on two worker processes against the engine on the whole array."""

import pickle

import numpy as np
import pytest

from labelwise.cluster import greedy_information
from labelwise.cluster.information import BlockRunner, MappedBlock, portable
from labelwise.numerics import information
from rest_slow import rest_slow

N, R = 3000, 12


@pytest.fixture(scope="module")
def factor():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(N, R)) * rng.gamma(0.5, size=(N, 1))).astype(np.float32)


def blocks(factor, size=400, **settings):
    return information.LowRankBlocks(information.array_blocks(factor, 0.3, size=size), **settings)


@pytest.mark.parametrize("criterion", rest_slow(["mi", "entropy", "mi_fixed_rest"]))
@pytest.mark.parametrize("size", rest_slow([400, 20]))  # 150 blocks are 19 groups, which each worker has in two tasks
def test_picks_are_those_of_one_machine(client, factor, size, criterion):
    rng = np.random.default_rng(1)
    settings = {"given": [7, 8, 2999], "criterion": criterion, "costs": rng.uniform(1, 3, N)}
    settings["eligible"] = rng.random(N) < 0.9
    here = information.greedy_information(information.LowRank(factor, 0.3), 60, **settings)
    there = greedy_information(blocks(factor, size, n_candidates=30), 60, cluster=client, **settings)
    np.testing.assert_array_equal(here.indices, there.indices)
    np.testing.assert_allclose(here.gains, there.gains, rtol=1e-9)


def test_a_killed_worker_changes_no_pick(client, factor, kill_at):
    here = information.greedy_information(information.LowRank(factor, 0.3), 80)
    killed = kill_at("labelwise.cluster.information.near", 20)  # the first walk is over by then
    there = greedy_information(blocks(factor, n_candidates=20), 80, cluster=client)
    assert killed
    np.testing.assert_array_equal(here.indices, there.indices)


def test_mapped_rows_are_opened_by_the_workers(client, factor, tmp_path):
    np.save(tmp_path / "pool.npy", factor)
    mapped = blocks(np.load(tmp_path / "pool.npy", mmap_mode="r"))
    travelling = [portable(block) for block in mapped.blocks]
    assert all(isinstance(block, MappedBlock) for block in travelling)
    assert max(len(pickle.dumps(block)) for block in travelling) < 400 * 8 + 1000  # noise, and no features
    for block, original in zip(travelling, mapped.blocks, strict=True):
        np.testing.assert_array_equal(block.load()[0], original.factor)
        np.testing.assert_array_equal(block.load(np.array([3, 1]))[0], original.factor[[3, 1]])
    here = information.greedy_information(information.LowRank(factor, 0.3), 30)
    np.testing.assert_array_equal(greedy_information(mapped, 30, cluster=client).indices, here.indices)


def test_what_is_in_memory_travels_as_it_is(factor):
    block = information.array_blocks(factor, 0.3, size=400)[0]
    assert portable(block) is block


def test_bounds_stay_with_the_workers(client, factor):
    state = information.StreamedInformation(blocks(factor, run=BlockRunner(client)))
    assert {type(bounds).__name__ for bounds in state._bounds} == {"Kept"}
    np.testing.assert_allclose(
        state.gains(), information.LowRankInformation(information.LowRank(factor, 0.3)).gains(), rtol=1e-9
    )


def test_an_error_in_a_block_comes_back(client, factor):
    broken = factor.copy()
    broken[1234, 3] = np.nan
    with pytest.raises(ValueError, match="features must be finite"):
        greedy_information(blocks(broken), 3, cluster=client)

"""The generator against its published vectors and a plain implementation; the numbers against the normal law."""

import numpy as np
from scipy.stats import kstest

from labelwise.numerics.counter_random import philox, standard_normals, uniforms

MASK = 0xFFFFFFFF


def words(*values):
    return tuple(np.uint64(value) for value in values)


def test_published_vectors():
    """Known answers of the Random123 distribution for philox4x32 with ten rounds."""
    zero = philox(words(0, 0, 0, 0), words(0, 0))
    assert [int(word) for word in zero] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = philox(words(MASK, MASK, MASK, MASK), words(MASK, MASK))
    assert [int(word) for word in ones] == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def test_plain_implementation():
    counter, key = [7, 123456789, 3, 2**31], [42, 99]
    c, k = list(counter), list(key)
    for _ in range(10):
        high, low = divmod(0xD2511F53 * c[0], 2**32)
        high2, low2 = divmod(0xCD9E8D57 * c[2], 2**32)
        c = [high2 ^ c[1] ^ k[0], low2, high ^ c[3] ^ k[1], low]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    assert [int(word) for word in philox(words(*counter), words(*key))] == c


def test_numbers_are_normal_and_uncorrelated():
    z = standard_normals(np.arange(2000), 50, seed=3, sample=1, kind=0)
    assert kstest(z.ravel()[::3], "norm").pvalue > 1e-3
    correlation = np.corrcoef(z, rowvar=False)
    assert np.abs(correlation[~np.eye(50, dtype=bool)]).max() < 6 / np.sqrt(2000)


def test_every_part_of_the_address_matters():
    at = {"seed": 1, "sample": 0, "kind": 0}
    rows = np.arange(500)
    base = standard_normals(rows, 4, **at)
    for other in ({**at, "seed": 2}, {**at, "sample": 1}, {**at, "kind": 1}, {**at, "seed": 1 + 2**40}):
        assert abs(np.corrcoef(base.ravel(), standard_normals(rows, 4, **other).ravel())[0, 1]) < 0.1
    far = standard_normals(rows + 2**32, 4, **at)
    assert abs(np.corrcoef(base.ravel(), far.ravel())[0, 1]) < 0.1


def test_a_number_does_not_depend_on_its_company():
    whole = standard_normals(np.arange(100), 37, seed=5, sample=2, kind=1)
    some = np.array([99, 3, 50])
    np.testing.assert_array_equal(standard_normals(some, 37, seed=5, sample=2, kind=1), whole[some])
    np.testing.assert_array_equal(standard_normals(some, 10, seed=5, sample=2, kind=1), whole[some, :10])


def test_uniform_numbers_by_their_address():
    u = uniforms(2**33 + 7, 3, 6, seed=2**40 + 5, sample=4, kind=9)
    key = words((2**40 + 5) & MASK, (2**40 + 5) >> 32)
    row = 2**33 + 8
    plain = [philox(words(group, row & MASK, (row >> 32) ^ (9 << 24), 4), key) for group in (0, 1)]
    np.testing.assert_array_equal(u[1], np.array([int(word) for four in plain for word in four][:6]) / 2.0**32)
    assert kstest(uniforms(0, 500, 40, seed=1, sample=0, kind=9).ravel(), "uniform").pvalue > 1e-3

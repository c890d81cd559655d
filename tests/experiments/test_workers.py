from __future__ import annotations

import signal

import pytest
from joblib import cpu_count, delayed

from labelwise.experiments.workers import side_by_side


def test_each_worker_keeps_to_its_share_of_the_cores():
    jobs = 2 * cpu_count()
    threads = list(side_by_side((delayed(_blas_threads)() for _ in range(2)), jobs))
    assert set(threads) == {1}


def _blas_threads():
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return max(pool["num_threads"] for pool in threadpool_info())


def test_workers_leave_the_interrupt_to_the_process_that_started_them():
    assert set(side_by_side((delayed(signal.getsignal)(signal.SIGINT) for _ in range(2)), 2)) == {signal.SIG_IGN}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_job_at_a_time_runs_here_and_in_order():
    seen: list[int] = []
    assert list(side_by_side((delayed(seen.append)(i) for i in range(3)), 1)) == [None] * 3
    assert seen == [0, 1, 2]


def test_an_error_in_a_worker_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        list(side_by_side((delayed(divmod)(1, i) for i in range(2)), 2))

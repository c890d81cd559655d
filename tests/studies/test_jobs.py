import json
import signal

import pytest
from joblib import cpu_count, delayed

from labelwise.studies.jobs import Job, run_jobs, side_by_side


def count_calls(value, log):
    with open(log, "a") as file:
        file.write(f"{value}\n")
    return {"square": value**2}


def fails(value):
    if value == 2:
        raise RuntimeError("on purpose")
    return {"value": value}


def jobs(tmp_path, values):
    return [Job(count_calls, {"value": v, "log": str(tmp_path / "log")}) for v in values]


def test_outcomes_come_in_order_and_are_computed_once(tmp_path):
    assert run_jobs(jobs(tmp_path, [3, 1, 2]), tmp_path / "jobs", n_jobs=1) == [
        {"square": 9},
        {"square": 1},
        {"square": 4},
    ]
    seen = []
    more = run_jobs(jobs(tmp_path, [2, 4, 3]), tmp_path / "jobs", n_jobs=1, on_job=lambda *n: seen.append(n))
    assert more == [{"square": 4}, {"square": 16}, {"square": 9}]
    assert sorted((tmp_path / "log").read_text().split()) == ["1", "2", "3", "4"]
    assert seen == [(2, 3), (3, 3)]


def test_damaged_or_foreign_outcomes_are_done_again(tmp_path):
    job = jobs(tmp_path, [5])
    run_jobs(job, tmp_path / "jobs", n_jobs=1)
    path = tmp_path / "jobs" / f"{job[0].key}.json"
    path.write_text(path.read_text()[:10])
    assert run_jobs(job, tmp_path / "jobs", n_jobs=1) == [{"square": 25}]
    path.write_text(json.dumps({"settings": {"value": 6}, "outcome": {"square": 0}}))
    assert run_jobs(job, tmp_path / "jobs", n_jobs=1) == [{"square": 25}]
    assert (tmp_path / "log").read_text().split() == ["5", "5", "5"]


def test_what_decides_the_outcome_decides_the_key():
    base = Job(fails, {"value": 1})
    assert base.key == Job(fails, {"value": 1}).key
    assert (
        len(
            {
                base.key,
                Job(fails, {"value": 3}).key,
                Job(count_calls, {"value": 1}).key,
                Job(fails, {"value": 1}, 2).key,
            }
        )
        == 4
    )


def test_a_failing_job_leaves_the_finished_ones(tmp_path):
    todo = [Job(fails, {"value": v}) for v in (1, 2, 3)]
    with pytest.raises(RuntimeError, match="on purpose"):
        run_jobs(todo, tmp_path, n_jobs=1)
    assert [path.name for path in tmp_path.glob("*.json")] == [f"{todo[0].key}.json"]


@pytest.mark.slow
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

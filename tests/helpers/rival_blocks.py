"""Blocks of rows that misbehave where they are loaded; a module of its own so that workers can import it."""

import os
import signal
import time
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class WatchedBlock:
    """Rows in memory. Every load is noted in a file; at number `deadly` the process that loads is killed."""

    start: int
    factor: Any
    noise: np.ndarray
    log: str
    deadly: int = 0
    broken: bool = False
    slow: float = 0.0

    @property
    def n_rows(self) -> int:
        return self.factor.shape[0]

    def load(self, rows=None):
        with open(self.log, "ab", buffering=0) as log:
            log.write(b".")
            count = log.tell()
        if count == self.deadly or self.deadly < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.broken:
            raise OSError(5, f"the disk under row {self.start} is gone")
        time.sleep(self.slow)
        some = slice(None) if rows is None else rows
        return self.factor[some], self.noise[some]


def watched(factor, noise, size, log, *, broken_at=None, **how):
    """`factor` in blocks of `size` rows; the one that starts at `broken_at` cannot be read."""
    noise = np.broadcast_to(np.asarray(noise, dtype=float), factor.shape[0]).copy()
    return [
        WatchedBlock(
            start,
            factor[start : start + size],
            noise[start : start + size],
            str(log),
            broken=start == broken_at,
            **how,
        )
        for start in range(0, factor.shape[0], size)
    ]

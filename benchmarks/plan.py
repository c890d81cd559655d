"""How well `labelwise plan` foretells time: what it expects of larger problems than it was calibrated on, and what is.

    python benchmarks/plan.py [--quick]

The machine is calibrated first, as the command does. Then models are fitted and pools believed about, on one thread,
and the time of the processor is set against the expectation: `NAME_fit`, `NAME_believe` and `NAME_choose` are expected
over measured, by size; `worst_factor` is the largest error either way of those that took more than a twentieth of a
second. `constants` are seconds of a unit of each term of `labelwise.experiments.plan_costs`. The last line printed is
one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from threadpoolctl import threadpool_limits

from labelwise.experiments.plan_calibration import Calibration, machine, measure, time_model, time_strategy
from labelwise.experiments.plan_costs import MODELS, STRATEGIES, Workload

WORTH = 0.05  # seconds below which an error matters to nobody
CASES = {
    "label_gp": [Workload(10_000, 100, 40, 1000), Workload(10_000, 100, 40, 2500)],
    "compressed_label_gp": [Workload(10_000, 100, 40, 1000), Workload(10_000, 100, 40, 2500)],
    "orthogonal_target_gp": [Workload(10_000, 100, 40, 1000)],
    "label_mixture_gp": [Workload(5_000, 30, 10, 250)],
    "auto": [Workload(10_000, 100, 40, 1000), Workload(10_000, 100, 40, 2500)],
    "binary_relevance": [Workload(20_000, 100, 40, 5_000), Workload(20_000, 300, 100, 10_000)],
    "online_bayes": [Workload(20_000, 100, 40, 20_000), Workload(20_000, 300, 300, 20_000)],
    "cooccurrence_factors": [Workload(5_000, 50, 20, 300)],
    "cooccurrence_transfer": [Workload(20_000, 100, 40, 5_000), Workload(20_000, 300, 100, 10_000)],
}
POOLS = {
    "random": [Workload(200_000, 10, 10, 10)],
    "uncertainty": [Workload(200_000, 10, 20, 10)],
    "uncertainty_pairs": [Workload(200_000, 10, 20, 10)],
    "balanced_pairs": [Workload(200_000, 10, 20, 10)],
    "label_covariance": [Workload(20_000, 100, 10, 500), Workload(20_000, 100, 10, 1500)],
    "mutual_information": [Workload(60_000, 200, 5, 20, batch=50), Workload(100_000, 400, 5, 20, batch=100)],
}


def ratios(calibration: Calibration, quick: bool) -> dict[str, list[float]]:
    """Expected over measured, of every case."""
    found: dict[str, list[float]] = {}

    def add(what: str, workload: Workload, expected: float, seconds: float) -> None:
        print(f"{what} {workload}: {seconds:.2f} s, expected {expected:.2f} s", file=sys.stderr, flush=True)
        if seconds > WORTH:
            found.setdefault(what, []).append(expected / seconds)

    for name, cases in CASES.items():
        cost = MODELS[name]
        for workload in cases[:1] if quick else cases:
            fit, believe = time_model(name, workload)
            add(f"{name}.fit", workload, calibration.seconds(f"{name}.fit", cost.fit, workload), fit)
            add(f"{name}.believe", workload, calibration.seconds(f"{name}.believe", cost.believe, workload), believe)
    for name, cases in POOLS.items():
        for workload in cases[:1] if quick else cases:
            what = f"{name}.choose"
            expected = calibration.seconds(what, STRATEGIES[name].choose, workload)
            add(what, workload, expected, time_strategy(name, workload))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one size of each")
    options = parser.parse_args()
    with threadpool_limits(1):
        calibration = Calibration(measure(), machine())
        found = ratios(calibration, options.quick)
    worst = max(max(ratio, 1 / ratio) for of_one in found.values() for ratio in of_one)
    figures: dict[str, Any] = {name: [round(ratio, 3) for ratio in of_one] for name, of_one in found.items()}
    constants = {name: [float(f"{c:.4g}") for c in of_one] for name, of_one in calibration.constants.items()}
    print(json.dumps({"worst_factor": round(worst, 2), **figures, "constants": constants}))


if __name__ == "__main__":
    main()

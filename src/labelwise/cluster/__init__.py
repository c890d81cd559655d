"""Past one machine: the only floor that knows Dask. Everything else runs without it, and never imports it.

`cluster=` is a `distributed.Client`, the address of a scheduler, or a number of processes on this machine.
"""

from labelwise.cluster._connect import connected
from labelwise.cluster.factors import fit_factors
from labelwise.cluster.fan_out import fan_out
from labelwise.cluster.information import greedy_information
from labelwise.cluster.online import fit_online
from labelwise.cluster.scoring import on_cluster

__all__ = ["connected", "fan_out", "fit_factors", "fit_online", "greedy_information", "on_cluster"]

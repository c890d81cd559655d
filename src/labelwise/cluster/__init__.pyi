from labelwise.cluster._connect import connected as connected
from labelwise.cluster._connect import fan_out as fan_out
from labelwise.cluster.factors import fit_factors as fit_factors
from labelwise.cluster.information import greedy_information as greedy_information
from labelwise.cluster.information import on_cluster as on_cluster
from labelwise.cluster.online import fit_online as fit_online

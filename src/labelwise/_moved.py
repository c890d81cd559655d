"""Where modules of 0.1 are now: old import paths, and model files that name them, work for one release more."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = """
asking records.asking
numerics.costs records.costs
answer_book campaign.answers
guard campaign.guard
standing campaign.standing
defaults campaign.defaults
new_labels campaign.new_labels
streamed_posterior posterior.wrapped
data.arff data.formats.arff.files
data.mulan data.formats.arff.mulan
data.meka data.formats.arff.meka
data.xmc data.formats.xmc
data.csv data.formats.csv
data.jsonl data.formats.jsonl
data.parquet data.formats.parquet
data.rows data.formats.rows
data.synthetic data.made_up.synthetic
data.synthetic_streams data.made_up.synthetic
data.digit_pictures data.bundled
data.yeast data.bundled
data.tickets data.made_up.tickets
data.shards data.formats.shards
data.text_counts data.cooccurrence
cluster.scoring cluster.information
experiments.streaming streams.train
experiments.stream_predictions streams.predict
experiments.progressive streams.judge
experiments.stream_rules streams.judge
experiments.stream_files streams.checkpoint
experiments.stream_figures studies.figures
experiments.metrics numerics.metrics
experiments.arena studies.plans
experiments.arena_figures studies.figures
experiments.arena_files studies.plans
experiments.arena_findings studies.statistics
experiments.arena_report studies.report
experiments.demo studies.demo
experiments.figures studies.figures
experiments.findings studies.findings
experiments.jobs studies.jobs
experiments.label_saving studies.statistics
experiments.mixture_figures studies.papers.figures
experiments.presets studies.plans
experiments.ranking studies.ranking
experiments.report studies.report
experiments.simulate studies.simulate
experiments.sources studies.sources
experiments.statistics studies.statistics
experiments.storage studies.study
experiments.study studies.study
experiments.tables studies.tables
experiments.workers studies.jobs
labelling.terms labelling.records
labelling.learner labelling.training.learner
labelling.planning labelling.training.worker
labelling.history labelling.training.votes
labelling.tally labelling.training.agreement_counts
labelling.worker labelling.training.worker
labelling.worker_process labelling.training.worker_process
labelling.starting labelling.training.start_worker
labelling.locks labelling.training.locks
labelling.derived labelling.training.derived
labelling.snapshot labelling.training.snapshot
labelling.model_files labelling.training.model_files
labelling.chance labelling.training.chance
labelling.guesses labelling.training.guesses
labelling.status labelling.figures.status
labelling.progress labelling.figures.status
labelling.estimates labelling.training.learner
labelling.agreement labelling.figures.agreement
labelling.learning_curve campaign.standing
labelling.wording labelling.figures.wording
labelling.report labelling.figures.report
labelling.label_effects labelling.web.vocabulary_view
labelling.transfer labelling.exchange.transfer
labelling.label_studio labelling.exchange.label_studio
labelling.label_studio_answers labelling.exchange.label_studio_answers
labelling.label_studio_api labelling.exchange.label_studio_api
labelling.label_studio_live labelling.web.ml_backend
labelling.label_studio_tasks labelling.exchange.label_studio_tasks
labelling.sources labelling.exchange.sources
labelling.features labelling.items.features
labelling.pictures labelling.items.pictures
labelling.picture_paths labelling.items.pictures
labelling.telling_words labelling.items.features
labelling.browse labelling.items.browse
labelling.blind labelling.items.blind
labelling.backup labelling.safety.backup
labelling.verify labelling.safety.verify
labelling.doubled labelling.safety.doubled
labelling.replay labelling.safety.replay
labelling.event_rules labelling.safety.verify
labelling.store.connections labelling.store.engine
labelling.web.drawings labelling.figures.report
labelling.web.figures labelling.figures.report
labelling.web.headers labelling.web.middleware
labelling.web.pictures_view labelling.web.label_view
labelling.web.app labelling.web.server
labelling.web.bodies labelling.web.middleware
labelling.web.connections labelling.web.server
labelling.held_questions labelling.leases
labelling.answer_checks labelling.leases
labelling.item_service labelling.service
labelling.web.showing labelling.web.label_view
labelling.store.troubles labelling.store.database_errors
models._label_gp_state models.label_gp.posterior
models.compressed_label_gp models.compressed.model
models._code_regression models.compressed.regression
models._compressed_posterior models.compressed.posterior
models._code_decoders models.compressed.label_decoders
models._label_decoders models.compressed.label_decoders
models.orthogonal_target_gp models.targets.model
models._target_posterior models.targets.posterior
models._target_search models.targets.regression
models._target_state models.targets.state
models.label_mixture_gp models.mixture.model
models._label_mixture_state models.mixture.state
models.cooccurrence_factors models.factors.cooccurrence_factors
models.cooccurrence_transfer models.factors.cooccurrence_transfer
models.latent_factors models.factors.latent_factors
models._factor_posterior models.factors.posterior
models._factor_training models.factors.training
models._transfer_choice models.factors.transfer_choice
models._transfer_posterior models.factors.transfer_posterior
models.online_bayes models.online.model
models.model_average models.auto_model
models._online_state models.online.state
models._training_rows models.training_rows
numerics.kernels numerics.gp.kernels
numerics.kernel_solver numerics.gp.kernel_solver
numerics.label_groups numerics.gp.kernel_solver
numerics.target_kernel numerics.gp.target_kernel
numerics.feature_solver numerics.gp.feature_solver
numerics.feature_regression numerics.gp.feature_regression
numerics.label_sketches numerics.recovery.label_sketches
numerics.bayesian_pca numerics.recovery.bayesian_pca
numerics.online_ep numerics.ep.online_learning
numerics.mixture_gates numerics.mixture.gates
numerics.mixture_kernel numerics.mixture.kernel
numerics.factor_model numerics.factors.model
numerics.label_transfer numerics.factors.model
numerics.count_scaling numerics.factors.count_scaling
models._factor_stream models.factors.stream
models._label_code models.compressed.code
models._label_gp_solving models.label_gp.posterior
models._label_mixture_fitting models.mixture.fitting
models._target_regression models.targets.regression
numerics.code_filling numerics.recovery.row_completion
numerics.factor_online models.factors.stream
numerics.factor_variational numerics.factors.variational
numerics.fast_recovery numerics.recovery.fast_recovery
numerics.feature_spaces numerics.gp.feature_spaces
numerics.gaussian_recovery numerics.recovery.gaussian_recovery
numerics.iterative_solver numerics.gp.kernel_solver
numerics.label_codes numerics.recovery.label_codes
numerics.label_mixture numerics.mixture.bernoulli_mixture
numerics.pool_variances numerics.gp.pool_variances
numerics.row_completion numerics.recovery.row_completion
numerics.shared_evidence numerics.gp.shared_evidence
numerics.sparse_recovery numerics.recovery.sparse_recovery
"""
PARTED = {
    "labelwise.experiments": ("labelwise.studies", "labelwise.streams", "labelwise.numerics.metrics"),
    "labelwise.data.streams": ("labelwise.data.formats.registry", "labelwise.data.formats.streaming"),
}
NEW_NAME = {f"labelwise.{old}": f"labelwise.{new}" for old, new in (line.split() for line in MOVED.split("\n") if line)}


class MovedModules(MetaPathFinder, Loader):
    """Finds a module by its old name: it is the module of the new name, not a copy."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in PARTED:
            return ModuleSpec(fullname, self, is_package=True)
        return ModuleSpec(fullname, self) if fullname in NEW_NAME else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name in PARTED:
            return PartedPackage(spec.name)
        new = NEW_NAME[spec.name]
        warnings.warn(f"{spec.name} has moved to {new}", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It is loaded already; what the import system has just changed is put back."""
        if not isinstance(module, PartedPackage):
            assert module.__spec__ is not None
            module.__spec__ = module.__spec__.loader_state


class PartedPackage(ModuleType):
    """A package whose names are in several others now."""

    def __getattr__(self, name: str) -> Any:
        for new in PARTED[self.__name__]:
            if not name.startswith("__") and hasattr(importlib.import_module(new), name):
                warnings.warn(f"{self.__name__}.{name} has moved to {new}", DeprecationWarning, stacklevel=2)
                return getattr(importlib.import_module(new), name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def find_moved_modules() -> None:
    """From now on modules are also found by their old names."""
    sys.meta_path.append(MovedModules())

"""A labelling project: one file, or one database, that several people label at once and that loses nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import sqlalchemy as sa

from labelwise.campaign import Campaign
from labelwise.campaign.standing import Standing
from labelwise.decisions import Threshold
from labelwise.encoders import as_encoder
from labelwise.labelling.errors import NothingToAsk, ProjectError, WorkerBusy
from labelwise.labelling.exchange.sources import as_the_project, read_new
from labelwise.labelling.figures.status import Status, status_of
from labelwise.labelling.items.features import Featurizer, pack, pack_vectors
from labelwise.labelling.items.markup import check_formats
from labelwise.labelling.items.pictures import picture_folders, portable
from labelwise.labelling.leases import MOST_HELD
from labelwise.labelling.records import Event, Lease, Predictions, Receipt, Settings
from labelwise.labelling.served import OWNER, PICTURE_FOLDERS, ServedProject
from labelwise.labelling.store import Location, Store
from labelwise.labelling.store.annotations import people_there
from labelwise.labelling.store.engine import begin_project, read_value, write_value
from labelwise.labelling.store.events import (
    NewEvent,
    add_event,
    add_given,
    last_event,
    read_events,
    read_given,
    voters_count,
)
from labelwise.labelling.store.items import add_items, item_ids, known_items, read_some
from labelwise.labelling.store.labels import (
    StoredLabels,
    add_labels,
    describe_labels,
    last_change,
    note_change,
    read_labels,
    write_implies_parent,
)
from labelwise.labelling.store.questions import clear_questions, forget_beliefs, withdraw
from labelwise.labelling.store.schema import UNSURE, WHOLE_ITEM
from labelwise.labelling.store.trainings import forget_trainings
from labelwise.labelling.training.derived import DERIVED, derived_path
from labelwise.labelling.training.learner import Learner
from labelwise.labelling.training.locks import only_worker, worker_is_running
from labelwise.labelling.training.model_files import TrainedLabeller, labeller_of
from labelwise.labelling.training.similar import SimilarItems
from labelwise.labelling.training.worker import Worker, model_path
from labelwise.records import Answer, Block, Costs, LabelData, Opinions


class Project(ServedProject):
    """A campaign with a store. `Project(location)` opens what `Project.create` or `labelwise new` has made.

    Parameters
    ----------
    location : path of a SQLite file, or postgresql://user@host/database

    Examples
    --------
    >>> import tempfile
    >>> from labelwise import Answer, LabelData
    >>> data = LabelData.from_arrays([[0.0], [1.0], [5.0], [6.0]], label_names=["small", "even"])
    >>> project = Project.create(tempfile.mkdtemp() + "/sizes.db", data)
    >>> lease = project.ask(who="ann")[0]
    >>> lease.question.labels, lease.question.reason
    (('small', 'even'), 'start')
    >>> receipt = project.service.answer(lease.token, {"small": True, "even": None})  # on disk; None is unsure
    >>> project.labelled().n_observed
    1
    >>> project.close()
    """

    @classmethod
    def create(
        cls,
        location: Location,
        data: LabelData,
        *,
        text: str | None = None,
        images: str | None = None,
        embed: str | None = None,
        formats: Mapping[str, str] | None = None,
        id: str | None = None,
        **settings: Any,
    ) -> Project:
        """Make a project from items and labels, with the labels that are known already.

        Parameters
        ----------
        location : path of a new SQLite file, or the address of a PostgreSQL database without a project
        data : LabelData
        text, images : the field of `data.items` to make features of, or "" if the item itself is the text or picture
            Without either, `data.X` is kept as the features.
        embed : an encoder of the texts or pictures by its name or import path, see docs/features.md
            Vectors are made by the worker and join the words when all are ready. A block of vectors in `data` is kept,
            too; give one or the other.
        formats : fields that are Markdown or HTML and are shown so, as {"body": "markdown", "page": "html"}
            "" stands for an item that is itself the text. All other fields are shown as the text that they are.
        id : the column that the ids of the items came from, so that files of new items are read in the same way
        settings : see `labelwise.labelling.Settings.of`; the defaults are those of a `labelwise.Campaign`
        """
        features = _features(data, text, images, embed)
        if formats:
            features["formats"] = check_formats(formats, data.items)
        if id is not None:
            features["id"] = id
        chosen = Settings.of(**settings, features=features)
        Featurizer(chosen.features).fit(data.items or ())  # texts without a word are told before anything is made
        store = Store.create(location)
        with store.writing() as connection:
            begin_project(connection, asdict(chosen))
            add_labels(connection, data.label_names, OWNER, time.time())
            describe_labels(connection, data.labels, OWNER, time.time())
            write_implies_parent(connection, data.implies_parent, OWNER, time.time())
            _add_data(connection, data, chosen, store.folder)
        for name in DERIVED:  # of an earlier project of that name
            derived_path(store, name).unlink(missing_ok=True)
        store.close()
        return cls(location)

    # -- asking and telling -------------------------------------------------------------------------------------------

    def ask(self, n: int = 1, *, who: str = OWNER) -> list[Lease]:
        """Up to n questions for a person, who holds them until they answer, skip, or the lease ends.

        If no question is ready and no worker is running, questions are made now, in this process. A person holds at
        most `MOST_HELD` questions; a person who asks for more gets those that they hold.
        """
        n = min(n, MOST_HELD)
        leases = self.service.ask(who, n)
        if len(leases) < n and not worker_is_running(self.store):
            self.refresh(encode=False)
            leases = self.service.ask(who, n)
        return leases

    def tell(self, answers: Answer | Iterable[Answer], *, who: str = OWNER) -> list[Receipt]:
        """Save answers; they are on disk when this returns. See `Service.tell`."""
        return self.service.tell([answers] if isinstance(answers, Answer) else answers, who)

    def record(self, events: Iterable[Event]) -> int:
        """Add events from elsewhere, with who, when and why; returns how many were new.

        Events that are here already (same person, moment and item) are skipped, so that a file can be imported twice.
        """
        with self.store.writing() as connection:
            return _record(connection, list(events))

    def refresh(self, *, encode: bool = True) -> None:
        """Train on all answers so far and prepare questions, in this process.

        With `encode`, vectors that the project wants of its texts are made first, which may take long.
        """
        worker = self.worker()
        while worker.step() or (encode and worker.encode_some()):
            pass
        worker.keep_model()

    def prepare(self) -> bool:
        """Make the first questions of a new project, where they need no model, so that nobody waits for a training."""
        return self.worker().prepare()

    def worker(self, **options: Any) -> Worker:
        """A worker for this project, to run in its own process."""
        return Worker(self.store, self.settings, **options)

    # -- what is known ------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"Project({self.store.shown!r})"

    def _repr_html_(self) -> str:
        return self.status().as_html(f"Project {self.store.shown}")

    def status(
        self, *, target_f1: float | None = None, worth_an_hour: float | None = None, risk: float | None = None
    ) -> Status:
        """What `labelwise status` shows; the goals may be others than the project's."""
        return status_of(self, target_f1=target_f1, worth_an_hour=worth_an_hour, risk=risk)

    def learner(self) -> Learner:
        """Features, votes and campaign, read from the store now."""
        learner = Learner(self.store, self.settings)
        learner.catch_up()
        return learner

    def costs(self, who: str | None = None) -> Costs:
        """What questions cost these people, or one of them, in seconds: by their times, as far as there are any."""
        learner = self.learner()
        return learner.costs if who is None else learner.costs_of.get(who, learner.costs)

    def campaign(self) -> Campaign:
        """A `Campaign` with the answers that are in the store now. Answers told to it do not reach the store."""
        return self.learner().campaign

    def standing(self) -> Standing:
        """How the project stands, judged now by its random questions: see `labelwise.Campaign.status`.

        Status and page show the result of the worker, which judges whenever the answers have grown by a quarter.
        """
        of = self.settings
        return self.campaign().status(target_f1=of.target_f1, worth_an_hour=of.worth_an_hour, risk=of.risk)

    def labelled(self) -> LabelData:
        """The items with all known labels."""
        return self.learner().data()

    def _similar_items(self) -> SimilarItems:
        """As the worker wrote them, otherwise found now."""
        return super()._similar_items() or SimilarItems.of(self.learner())

    def predict(
        self,
        items: str | None = None,
        *,
        id: str | None = None,
        threshold: float | None = None,
        every_label: bool = False,
        opinions: Iterable[Opinions] = (),
        **csv: Any,
    ) -> Predictions:
        """Label sets and probabilities: of the items of a file, or of the project's own.

        What was answered since the last training is learnt first. Where a worker is running, that is left to it, and
        `unlearnt` says how many answers it has not come to.

        Of the project's own items, what was answered stands. Sets are those of the default decision, see
        docs/decisions.md, or hold all labels above a threshold. Labels that nobody has said yes to are left out, unless
        `every_label` is wanted: a model knows no item that has them. `opinions`: what sources say of the items of the
        file; of the project's own, it has what was imported. `id`: the column of ids, by default that of the project's
        own items; "" numbers the rows. `csv`: options of a csv file, encoding and delimiter.
        """
        if threshold is not None:
            Threshold(threshold)  # a wrong one is told before a model is trained
        labeller = self.model()
        learner = self.learner() if items is None else None
        named = labeller.label_names
        data = read_new(str(items), self.settings, named, id, **csv) if learner is None else learner.data()
        contents = data.items if data.items is not None else (None,) * data.n_items
        X = data.X if self.settings.features["kind"] == "numbers" else None
        if "vectors" in self.settings.features:
            X = next((block.of(data.X) for block in data.blocks if block.name == "vectors"), None)
        said = _opinions_of_new(list(opinions), data.item_ids, labeller, is_new=learner is None)
        if learner is not None and learner.labels.names == labeller.label_names:
            said = learner.opinions
        beliefs = labeller.posterior(contents, X, said)
        sets = labeller.decide(beliefs, threshold=threshold, every_label=every_label)
        learnt = labeller.learnt_labels() | every_label
        if learner is not None:
            _keep_answers(data, labeller.label_names, sets)
            if learner.tree is not None and learner.labels.names == labeller.label_names:
                sets = np.asarray(learner.tree.upwards(sets))
        with self.store.reading() as connection:
            unlearnt = sum(voters_count(connection, labeller.seen_event).values())
        left_out = tuple(name for name, there in zip(labeller.label_names, learnt, strict=True) if not there)
        unheard = tuple(name for name in labeller.sources if name not in said)
        p = np.asarray(beliefs.probabilities())
        return Predictions(data.item_ids, labeller.label_names, sets, p, unlearnt, left_out, unheard)

    def model(self) -> TrainedLabeller:
        """The model of all answers so far. If no worker is running, it is trained now, in this process.

        If a worker is running, or if the training fails, it is the last model that a worker has kept.
        """
        kept = self._kept_model()
        if kept is not None:
            return kept
        labeller = labeller_of(self.learner())
        if labeller is None:
            raise NothingToAsk("there is no model yet: nothing was answered")
        return labeller

    def _kept_model(self) -> TrainedLabeller | None:
        """The model in the file, brought up to date first where no worker is running; None where it can be bettered."""
        with suppress(WorkerBusy), only_worker(self.store):
            self.refresh()  # looks whether there is anything to learn, and does nothing where there is not
        path = model_path(self.store)
        if not path.exists():
            return None
        kept = TrainedLabeller.load(path)
        with self.store.reading() as connection:
            now = (last_event(connection), last_change(connection))
        is_old = (kept.seen_event, kept.seen_change) != now or not kept.featurizer.is_current
        return None if is_old and self.is_settled else kept  # a worker was killed before it wrote the file

    def rebuild(self) -> None:
        """Delete everything derived (questions, trainings, model) and make it again from the answers."""
        with self.store.writing() as connection:
            clear_questions(connection)
            forget_trainings(connection)
        for name in DERIVED:
            derived_path(self.store, name).unlink(missing_ok=True)
        self.refresh()

    # -- more items ---------------------------------------------------------------------------------------------------

    def add_items(self, data: LabelData, *, who: str = OWNER) -> int:
        """Add items with their known labels; returns how many were new.

        Items that are here already, and are the same, are skipped; known labels that are new are added.
        """
        with self.store.writing() as connection:
            new = [name for name in data.label_names if name not in read_labels(connection).names]
            add_labels(connection, new, who, time.time())
            added = _add_data(connection, data, self.settings, self.store.folder)
            if added:
                note_change(connection, "add items", {"number": added}, who, time.time())
                forget_beliefs(connection)
        return added


def _opinions_of_new(
    opinions: Sequence[Opinions], items: Sequence[str], labeller: TrainedLabeller, *, is_new: bool
) -> Mapping[str, sp.csr_array]:
    """By source, (n, q) what is said of new items; sources that the model has not learnt to listen to are refused."""
    if opinions and not is_new:
        raise ProjectError("opinions are for the items of a file: import those about the project's own items")
    for each in opinions:
        if each.name not in labeller.sources:
            known = ", ".join(map(repr, labeller.sources)) or "none"
            raise ProjectError(
                f"the model has learnt from no opinions {each.name!r} (there are {known}): import some about the "
                "project's own items first, so that answers can tell what they are worth"
            )
    try:
        return {each.name: each.columns(items, labeller.label_names) for each in opinions}
    except ValueError as error:
        raise ProjectError(str(error)) from None


def _keep_answers(data: LabelData, label_names: Sequence[str], sets: npt.NDArray[np.bool_]) -> None:
    """Put what is known in the place of what was predicted; a model may be older than the labels."""
    place = {name: column for column, name in enumerate(label_names)}
    column_of = np.array([place.get(name, -1) for name in data.label_names])
    for entries, value in ((data.observed_mask(), False), (data.Y, True)):
        rows, columns = entries.nonzero()
        predicted = column_of[columns] >= 0
        sets[rows[predicted], column_of[columns[predicted]]] = value


def _record(connection: sa.Connection, events: list[Event]) -> int:
    labels, ids = read_labels(connection), item_ids(connection, [event.item for event in events])
    here = {(row.who, round(row.at, 6), row.item, row.kind): row.id for row, _ in read_events(connection)}
    number_of: dict[int, int] = {}  # by the number it has where it comes from
    added, people = 0, people_there(connection)
    for event in events:
        item, who = ids[event.item], people.get(event.who, event.who)
        known = here.get((who, round(event.at, 6), item, event.kind))
        if known is not None:
            number_of[event.id] = known
            continue
        values = _codes(event, labels)
        asked = WHOLE_ITEM if event.asked is None else labels.recorded_id_of(event.asked)
        undoes = None if event.undoes is None else number_of[event.undoes]
        new = NewEvent(event.at, who, item, event.kind, asked, event.reason, values, undoes=undoes)
        new = replace(new, timing=None if event.timing is None else event.timing.clamped())
        number_of[event.id] = add_event(connection, new)
        withdraw(connection, item, asked)
        added += 1
    return added


def _codes(event: Event, labels: StoredLabels) -> dict[int, int]:
    """Values by the numbers of labels here; of labels that were merged, yes to either is yes."""
    values: dict[int, int] = {}
    for name, value in event.values.items():
        label, code = labels.recorded_id_of(name), UNSURE if value is None else int(value)
        values[label] = max(code, values.get(label, code))
    return values


def _features(data: LabelData, text: str | None, images: str | None, embed: str | None) -> dict[str, Any]:
    if text is not None and images is not None:
        raise ProjectError("features are made of text or of images, not of both; leave one out")
    for kind, field in (("text", text), ("images", images)):
        if field is not None:
            if data.items is None:
                raise ProjectError(f"there are no items to make features of by {kind}={field!r}")
            return {"kind": kind, "field": field or None} | _beside(data, embed)
    if embed is not None:
        raise ProjectError(
            f"embed={embed!r} makes vectors of texts or pictures: say where they are by text= or images="
        )
    spec: dict[str, Any] = {"kind": "numbers", "width": data.n_features, "sparse": bool(sp.issparse(data.X))}
    spec |= {"blocks": [asdict(block) for block in data.blocks]} if data.blocks else {}
    return spec if data.feature_names is None else {**spec, "names": list(data.feature_names)}


def _beside(data: LabelData, embed: str | None) -> dict[str, Any]:
    """Vectors beside words or histograms: by an encoder, or as they came with the data."""
    given = _vectors_block(data)
    if embed is None:
        return {} if given is None else {"vectors": {"width": given.width, "encoder": given.encoder}}
    if given is not None:
        raise ProjectError(f"the data has vectors, {given.name!r}, already; leave out embed={embed!r} or the vectors")
    if not isinstance(embed, str):
        raise ProjectError(f"a project keeps its encoder by name: write 'package.module:name', not {embed!r}")
    as_encoder(embed).load()  # one that is not there is told before anything is made
    return {"embed": embed}


def _vectors_block(data: LabelData) -> Block | None:
    blocks = [block for block in data.blocks if block.kind == "vectors"]
    if len(blocks) > 1:
        raise ProjectError(f"the data has {len(blocks)} blocks of vectors; a project with text keeps one: join them")
    return blocks[0] if blocks else None


def _add_data(connection: sa.Connection, data: LabelData, settings: Settings, folder: Path | None) -> int:
    """Items and what is known of them, where they are new; the labels are there already. How many are new."""
    contents: Sequence[Any] = data.items if data.items is not None else (None,) * data.n_items
    numbers: Sequence[bytes | None] = (None,) * data.n_items
    if settings.features["kind"] == "numbers":
        X = as_the_project(data, settings).X
        if settings.features["sparse"] != bool(sp.issparse(X)):
            X = sp.csr_array(X) if settings.features["sparse"] else X.toarray()
        numbers = pack(X)
    elif "vectors" in settings.features:
        block, width = _vectors_block(data), settings.features["vectors"]["width"]
        if block is not None and block.width != width:
            raise ProjectError(
                f"the vectors have {block.width} numbers, those of the project {width}: encode them alike"
            )
        numbers = numbers if block is None else pack_vectors(block.of(data.X))
    kept = [portable(content, folder) for content in contents]
    number_of = known_items(connection, data.item_ids)
    _check_same(connection, number_of, data.item_ids, kept, numbers)
    new = [row for row, name in enumerate(data.item_ids) if name not in number_of]
    added = add_items(
        connection, [data.item_ids[row] for row in new], [kept[row] for row in new], [numbers[row] for row in new]
    )
    before = read_given(connection, list(number_of.values()))
    number_of |= {data.item_ids[row]: number for row, number in zip(new, added, strict=True)}
    folders = {*(read_value(connection, PICTURE_FOLDERS) or ()), *picture_folders(contents, folder)}
    write_value(connection, PICTURE_FOLDERS, sorted(folders))
    labels = read_labels(connection)
    columns = [labels.id_of(name) for name in data.label_names]
    known = data.observed_mask() if data.n_observed else sp.csr_array(data.Y.shape, dtype=bool)
    given = []
    for row in np.flatnonzero(np.diff(known.indptr)).tolist():
        present = set(data.Y.indices[data.Y.indptr[row] : data.Y.indptr[row + 1]].tolist())
        observed = known.indices[known.indptr[row] : known.indptr[row + 1]].tolist()
        item = number_of[data.item_ids[row]]
        said = {columns[label]: int(label in present) for label in observed}
        fresh = {label: value for label, value in said.items() if before.get(item, {}).get(label) != value}
        if fresh:
            given.append((item, fresh))
    add_given(connection, given, time.time(), OWNER)
    return len(added)


def _check_same(
    connection: sa.Connection,
    number_of: Mapping[str, int],
    names: Sequence[str],
    contents: Sequence[Any],
    numbers: Sequence[bytes | None],
) -> None:
    """Refuse an item that is here already and is another one: a field that both have, or a number, differs."""
    here = read_some(connection, number_of.values())
    for name, content, own in zip(names, contents, numbers, strict=True):
        if name not in number_of:
            continue
        other, others = here[number_of[name]]
        what = _difference(content, other) or ("numbers" if own != others else None)
        if what is not None:
            raise ProjectError(
                f"the item {name!r} is in the project already, with other {what}; leave it out or give it another id"
            )


def _difference(content: Any, other: Any) -> str | None:
    """What two contents of an item differ in; fields that only one of them has do not count."""
    if isinstance(content, Mapping) and isinstance(other, Mapping):
        own = json.loads(json.dumps(dict(content), default=str))
        return next((f"{name!r}" for name in own if name in other and own[name] != other[name]), None)
    return None if content == other else "content"

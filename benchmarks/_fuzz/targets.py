"""Every reader: the files to begin with, made by our own writers, and the call that reads one."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.data import FormatError, append_answers, open_stream, read, read_answers, write
from labelwise.data.cooccurrence import Cooccurrence, read_cooccurrence, write_cooccurrence
from labelwise.data.formats.arff.files import read as read_plain_arff
from labelwise.data.formats.arff.meka import label_positions
from labelwise.data.formats.arff.mulan import read_label_names
from labelwise.data.formats.arff.reader import read_arff
from labelwise.data.formats.rows import read_lines
from labelwise.data.formats.xmc import read_block
from labelwise.data.predictions import prediction_columns, writing_predictions
from labelwise.records import Answer, LabelData

NAMES = ("red", "round, or so", "naïve")


@dataclass(frozen=True)
class Target:
    """A reader under test.

    `kind` says how inputs are changed, `share` how many of the inputs are its own, `unpacked` the size that memory is
    measured against where a file is compressed.
    """

    name: str
    suffix: str
    read: Callable[[Path], Any]
    seeds: Callable[[Path], list[bytes]]
    kind: str = "text"
    share: float = 1.0
    words: Sequence[bytes] = ()
    files: dict[str, bytes] = field(default_factory=dict)  # that lie beside
    unpacked: Callable[[bytes], int] = len
    prepare: Callable[[], None] = lambda: None  # in the process that reads


def sample(sparse: bool = False, observed: bool = False, **options: Any) -> LabelData:
    rng = np.random.default_rng(1)
    X = np.where(rng.random((6, 3)) < 0.5, rng.standard_normal((6, 3)).round(3), 0)
    Y = (rng.random((6, 3)) < 0.5).astype(float)
    if observed:
        Y[rng.random((6, 3)) < 0.3] = np.nan
    return LabelData.from_arrays(sp.csr_array(X) if sparse else X, Y, **options)


def named(**options: Any) -> LabelData:
    items = [{"body": f'a text {n}, with "quotes"; and\nlines' if n == 2 else f"word{n} and"} for n in range(6)]
    return sample(label_names=NAMES, feature_names=["f", "g h", "i%"], items=items, **options)


def written(data: LabelData, name: str, **options: Any) -> Callable[[Path], list[bytes]]:
    def make(folder: Path) -> list[bytes]:
        write(data, folder / name, **options)
        return [(folder / name).read_bytes()]

    return make


def several(*makers: Callable[[Path], list[bytes]]) -> Callable[[Path], list[bytes]]:
    return lambda folder: [seed for make in makers for seed in make(folder)]


def texts(*seeds: str) -> Callable[[Path], list[bytes]]:
    return lambda folder: [seed.encode() for seed in seeds]


def walk(path: Path, **options: Any) -> None:
    """A stream to its end."""
    for _ in open_stream(path, batch=3, **options):
        pass


ARFF_WORDS = (
    b"@relation",
    b"@attribute a numeric\n",
    b"@attribute b {0,1}\n",
    b"@data\n",
    b"{0 1}",
    b"{",
    b"?",
    b"-C 3",
)
ARFF_WORDS += (b"-C -1", b"% comment\n", b"@attribute 'a b' {x,'y z'}\n", b"string", b"date", b"{1,0}", b"'", b"\\'")
TABLE_WORDS = (b"id", b"labels", b"body", b"red", b"red;round", b"0", b"1", b",", b'"', b"\n", b"'=1+1", b"nan", b"a|b")
JSON_WORDS = (
    b'"labels": ["a"]',
    b'{"id": 1}',
    b'"id": null',
    b"[1, 2]",
    b"1e999",
    b'"f": 1',
    b'{"a": {"a": 1}}',
    b"\n",
)
XMC_WORDS = (b"6 3 3\n", b"0,1 0:1", b":", b"1:nan", b"0:1 0:1", b"#", b" ", b"999999999 ", b"2147483648:1", b"\n")


def arff_targets() -> list[Target]:
    meka = several(
        *(
            written(sample(s, o, label_names=["a", "b c", "d'"]), "m.arff", format="meka")
            for s in (0, 1)
            for o in (0, 1)
        )
    )
    return [
        Target("arff", ".arff", partial(read_plain_arff, labels=2), meka, share=2, words=ARFF_WORDS),
        Target("meka", ".arff", partial(read, format="meka"), meka, share=2, words=ARFF_WORDS),
        Target(
            "arff compiled",
            ".arff",
            lambda path: read_arff(path, label_positions, compiled=True),
            meka,
            share=2,
            words=ARFF_WORDS,
        ),
        Target(
            "mulan xml",
            ".xml",
            read_label_names,
            texts(
                '<?xml version="1.0"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n<label name="a">'
                '<label name="b"/></label>\n</labels>\n',
                '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<labels><label name="&b;"/></labels>',
            ),
            words=(
                b"<label name='x'/>",
                b"&b;",
                b'<!ENTITY c "&b;&b;">',
                b"</label>",
                b"xmlns=''",
                b"encoding='utf-16'",
            ),
        ),
    ]


def table_targets() -> list[Target]:
    one, each = written(named(), "t.csv"), written(named(observed=True), "t.csv", labels=None)
    plain = texts("id,body,tags\n1,one,a;b\n2,two,\n3,three,;\n", "x,animal\n1,yes\n2,no\n", "a,labels\n1,\"['x']\"\n")
    json_one, json_each = written(named(), "t.jsonl"), written(named(observed=True), "t.jsonl", labels=None)
    rich = texts('{"id": 7, "e": [0.5, 1], "labels": ["a"]}\n{"id": 8, "e": [0, 2], "labels": []}\n')
    return [
        Target("csv", ".csv", read, several(one, plain), share=2, words=TABLE_WORDS),
        Target("csv text", ".csv", partial(read, labels="tags", text="body"), several(plain), words=TABLE_WORDS),
        Target("csv columns", ".csv", partial(read, labels=list(NAMES), features=["f"]), each, words=TABLE_WORDS),
        Target("tsv", ".tsv", read, texts("id\tx\tlabels\na\t1\tred;round\nb\t2\t\n"), words=TABLE_WORDS),
        Target("jsonl", ".jsonl", read, several(json_one, rich), share=2, words=JSON_WORDS),
        Target("jsonl columns", ".jsonl", partial(read, labels=list(NAMES)), json_each, words=JSON_WORDS),
        Target(
            "jsonl stream",
            ".jsonl",
            partial(walk, hashed_width=64),
            several(json_one, texts('{"id": 1, "w": {"a": 1}, "labels": "a;b"}\n')),
            words=JSON_WORDS,
        ),
        Target(
            "cooccurrence", ".csv", read_cooccurrence, _counts, words=(b"label,other,count\n", b",,7\n", b"a,b,1\n")
        ),
        Target("label list", ".txt", read_lines, texts("red\nround\n \nblue, or so\n")),
    ]


def _counts(folder: Path) -> list[bytes]:
    write_cooccurrence(Cooccurrence.from_labels(sample(observed=True, label_names=NAMES)), folder / "c.csv")
    return [(folder / "c.csv").read_bytes()]


def xmc_targets() -> list[Target]:
    seeds = several(
        written(sample(True), "x.txt"),
        written(sample(True), "x.txt", header=False, one_based=True),
        texts("0,1 0:1 2:-3e5 # note\n 1:1\n2 0:0.5\n"),
    )
    return [
        Target("xmc", ".txt", read, seeds, share=2, words=XMC_WORDS),
        Target(
            "xmc compiled",
            ".txt",
            lambda path: read_block(path, None, (0, 0), compiled=True),
            seeds,
            share=2,
            words=XMC_WORDS,
        ),
        Target("xmc stream", ".txt", partial(walk, format="xmc"), seeds, share=1, words=XMC_WORDS),
    ]


def answer_targets() -> list[Target]:
    from labelwise.labelling.exchange.label_studio import from_label_studio, labels_in, read_tasks, to_label_studio
    from labelwise.labelling.exchange.transfer import read_events_file, write_events
    from labelwise.labelling.records import Event

    told = [Answer("a", {"red": True}), Answer("b", {"red": False, "naïve": True}, correction=True)]
    events = [
        Event(1, 1.5e9, "ann", "answer", "a", None, "strategy", {"red": True, "b;c": None}),
        Event(2, 1.5e9 + 1.25, "bob", "skip", "b", "red", "strategy", {}),
        Event(3, 1.6e9, "ann", "undo", "a", None, "strategy", {}, 1),
    ]

    def answers(folder: Path) -> list[bytes]:
        path = folder / "a.jsonl"
        path.unlink(missing_ok=True)
        append_answers(told, path)
        return [path.read_bytes(), path.read_bytes()[:-20]]

    def events_file(name: str) -> Callable[[Path], list[bytes]]:
        def make(folder: Path) -> list[bytes]:
            write_events(events, str(folder / name))
            return [(folder / name).read_bytes()]

        return make

    def mended(path: Path) -> None:
        append_answers(told[:1], path)
        read_answers(path)

    def studio(path: Path) -> None:
        tasks = read_tasks(str(path))
        from_label_studio(tasks, ["red", *labels_in(tasks)])

    tasks = json.dumps(to_label_studio({"a": {"text": "x"}, "b": "y"}, events[:2], ["red", "b;c"]))
    theirs = json.dumps(
        [
            {
                "id": 7,
                "data": {"text": "x"},
                "annotations": [
                    {
                        "id": 1,
                        "completed_by": {"email": "a@b"},
                        "created_at": "2024-01-01T00:00:00Z",
                        "result": [{"from_name": "l", "type": "choices", "value": {"choices": ["red"]}}],
                    }
                ],
            }
        ]
    )
    words = (
        b'"meta": null',
        b'"annotations": [1]',
        b'"result": [[]]',
        b'"value": null',
        b'"created_at": ""',
        *JSON_WORDS,
    )
    head = (b"answer", b"skip", b"undo", b"yes", b"unsure", b"2024-01-01T00:00:00+00:00", b"0001-01-01T00:00:00+23:59")
    return [
        Target("answers", ".jsonl", read_answers, answers, share=2, words=JSON_WORDS),
        Target("answers appended", ".jsonl", mended, answers, share=0.3, words=JSON_WORDS),
        Target(
            "events csv", ".csv", lambda p: read_events_file(str(p)), events_file("e.csv"), words=(*TABLE_WORDS, *head)
        ),
        Target("events jsonl", ".jsonl", lambda p: read_events_file(str(p)), events_file("e.jsonl"), words=head),
        Target("label studio", ".json", studio, texts(tasks, theirs), share=2, words=words),
    ]


def study_targets() -> list[Target]:
    from labelwise.studies.plans import read_arena

    seed = """name = "mine"
seeds = [0, 1]
metrics = ["macro_f1"]
[schedule]
start = 10
batch = 5
test_share = 0.3
costs = {read = 5.0, answer = 1.0}
[[data]]
source = "mine.csv"
labels = ["a", "b"]
[[entrants]]
model = "binary_relevance"
strategies = ["random", "uncertainty"]
options = {}
"""
    words = (
        b"seeds = 3\n",
        b"[[data]]\n",
        b"[schedule.costs]\n",
        b"labels = 3\n",
        b"test = 'mine.csv'\n",
        b"inf",
        b"1979-05-27",
    )
    words += (
        b"limit = -1\n",
        b"scale = 'x'\n",
        b"model = 'label_gp'\n",
        b"options = {a = 1}\n",
        b"'''",
        b"[a.b]\n",
        b"true",
    )
    beside = {"mine.csv": b"x,a,b\n1,0,1\n"}
    return [Target("study toml", ".toml", read_arena, texts(seed), share=0.5, words=words, files=beside)]


def packed_targets() -> list[Target]:
    """Compressed text; memory is measured against what it holds."""

    def seeds(folder: Path) -> list[bytes]:
        (text,) = written(named(), "t.csv")(folder)
        return [gzip.compress(text), gzip.compress(text, 0), gzip.compress(text) * 2]

    def bombs(folder: Path) -> list[bytes]:
        (text,) = written(named(), "t.csv")(folder)
        return [bz2.compress(text), bz2.compress(b"\x00" * (1 << 20)), bz2.compress(b"id,labels\n" + b"1,a\n" * 10_000)]

    def unpacked(data: bytes) -> int:
        try:
            return max(len(data), len(gzip.decompress(data)))
        except (OSError, EOFError, ValueError, ArithmeticError, Exception):
            return 50 * len(data)

    def unpacked_bz2(data: bytes) -> int:
        try:
            return max(len(data), len(bz2.decompress(data)))
        except (OSError, ValueError, EOFError):
            return max(len(data), 1 << 20)

    return [
        Target("csv gz", ".csv.gz", read, seeds, kind="packed", share=0.5, unpacked=unpacked),
        Target("csv bz2", ".csv.bz2", read, bombs, kind="binary", share=0.2, unpacked=unpacked_bz2),
    ]


def unpacked_archive(data: bytes) -> int:
    """What an archive says that it holds."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            sizes = [info.file_size for info in archive.infolist() if 100 * info.compress_size > info.file_size]
        return max(len(data), sum(sizes))
    except Exception:  # damaged in any way
        return len(data)


def arrow_targets() -> list[Target]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def odd(folder: Path) -> list[bytes]:
        table = pa.table(
            {
                "id": ["a", "b"],
                "e": [[0.5, 1.0], [2.0, 3.0]],
                "when": pa.array([1, 2], pa.timestamp("us")),
                "d": pa.array(["x", "y"]).dictionary_encode(),
                "labels": [["red"], []],
            }
        )
        made = io.BytesIO()
        pq.write_table(table, made, compression="snappy")
        return [made.getvalue()]

    seeds = several(written(named(), "p.parquet"), written(named(observed=True), "p.parquet", labels=None), odd)
    return [
        Target("parquet", ".parquet", read, seeds, kind="binary", share=0.2),
        Target("parquet stream", ".parquet", partial(walk, hashed_width=64), seeds, kind="binary", share=0.2),
    ]


def shard_targets() -> list[Target]:
    from labelwise.data.shard_files import open_shard

    def first(path: Path) -> None:
        shard = open_shard(path)
        shard.rows(np.arange(min(2, shard.shape[0])))

    def npy(folder: Path) -> list[bytes]:
        made = io.BytesIO()
        np.save(made, np.eye(3, 2, dtype=np.float32))
        return [made.getvalue()]

    def npz(folder: Path) -> list[bytes]:
        dense, sparse = io.BytesIO(), io.BytesIO()
        np.savez(dense, X=np.eye(3))
        sp.save_npz(sparse, sp.csr_array(np.eye(3)))
        return [dense.getvalue(), sparse.getvalue(), _bomb("X.npy", dense.getvalue())]

    return [
        Target("shard npy", ".npy", first, npy, kind="binary", share=0.3, words=(b"'shape': (9999999999, 2)", b"True")),
        Target("shard npz", ".npz", first, npz, kind="archive", share=0.2, unpacked=unpacked_archive),
    ]


def _bomb(name: str, archive: bytes, size: int = 100 << 20) -> bytes:
    """An archive whose member is followed by very many zeros."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        content = file.read(name)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file, file.open(name, "w", force_zip64=True) as member:
        member.write(content)
        for _ in range(size >> 20):
            member.write(b"\x00" * (1 << 20))
    return made.getvalue()


def model_targets() -> list[Target]:
    from labelwise import BinaryRelevance, OnlineBayes
    from labelwise.labelling.items.features import Featurizer
    from labelwise.labelling.training.model_files import TrainedLabeller
    from labelwise.streams.checkpoint import Checkpoint

    def skops(folder: Path) -> list[bytes]:
        words = ["red apple", "green apple", "red car", "green car"]
        featurizer = Featurizer({"kind": "text", "field": None}).fit(words)
        model = BinaryRelevance().fit(featurizer.transform(words), [[1, 0], [0, 0], [1, 1], [0, 1]])
        TrainedLabeller(model, ("red", "vehicle"), featurizer).save(folder / "m.skops")
        whole = (folder / "m.skops").read_bytes()
        return [whole, _bomb("schema.json", whole)]

    def online(folder: Path) -> list[bytes]:
        model = OnlineBayes().fit(sp.csr_array(np.eye(4)), sp.csr_array(np.eye(4, 2, dtype=bool)))
        Checkpoint(model, ["a", "b"]).save(folder / "m.npz")
        return [(folder / "m.npz").read_bytes()]

    return [
        Target(
            "model skops", ".skops", TrainedLabeller.load, skops, kind="archive", share=0.03, unpacked=unpacked_archive
        ),
        Target(
            "stream checkpoint", ".npz", Checkpoint.load, online, kind="archive", share=0.1, unpacked=unpacked_archive
        ),
    ]


def project_targets() -> list[Target]:
    from labelwise.labelling import Project
    from labelwise.labelling.served import ServedProject
    from labelwise.labelling.store import events, items, labels, people, trainings

    def seeds(folder: Path) -> list[bytes]:
        path = folder / "p.db"
        with Project.create(path, sample(observed=True, label_names=NAMES), model="binary_relevance") as project:
            project.tell(Answer(project.ask(who="ann")[0].question.item, {"red": True}), who="ann")
        return [path.read_bytes()]

    def everything(path: Path) -> None:
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        with ServedProject(path) as project, project.store.reading() as connection:
            items.read_items(connection)
            labels.read_labels(connection)
            labels.read_changes(connection)
            events.read_events(connection)
            events.read_votes(connection)
            people.read_users(connection)
            trainings.read_trainings(connection)

    return [Target("project db", ".db", everything, seeds, kind="binary", share=0.1)]


def prediction_targets() -> list[Target]:
    def seeds(suffix: str) -> Callable[[Path], list[bytes]]:
        def make(folder: Path) -> list[bytes]:
            p = np.array([[0.2, 0.9, 0.6], [0.1, 0.2, 0.3]])
            with writing_predictions(folder / f"p{suffix}") as append:
                append(prediction_columns(["a", "b"], p > 0.5, p, NAMES, top=1))
            return [(folder / f"p{suffix}").read_bytes()]

        return make

    reading = partial(read, features=[])
    return [
        Target("predictions csv", ".csv", reading, seeds(".csv"), share=0.5, words=TABLE_WORDS),
        Target("predictions jsonl", ".jsonl", reading, seeds(".jsonl"), share=0.5, words=JSON_WORDS),
    ]


def route_targets() -> list[Target]:
    from routes import Scripts

    scripts, cases = Scripts(), Scripts()
    words = (
        b"{lease}",
        b"{item}",
        b"{event}",
        b"POST /api/ask {}\n",
        b"GET /browse?",
        b'"values": {"left": null}',
        b"DELETE ",
    )
    words += (
        b'{"items": -1}',
        b"%00",
        b"%ff",
        b"../",
        b"page=99999999999999999999",
        b'"lease": 1',
        b"HEAD /",
        b"&q=%",
        b"\n",
    )
    made = [bytes([n]) + np.random.default_rng(n).bytes(3000) for n in range(20)]
    return [
        Target("http scripts", ".txt", scripts.read, scripts.seeds, "text", 0.2, words, prepare=scripts.prepare),
        Target(
            "http schemathesis", ".bin", cases.read_case, lambda _: made, "binary", 0.1, prepare=cases.prepare_cases
        ),
    ]


FAMILIES: dict[str, Callable[[], list[Target]]] = {
    "arff": arff_targets,
    "tables": table_targets,
    "xmc": xmc_targets,
    "answers": answer_targets,
    "studies": study_targets,
    "packed": packed_targets,
    "arrow": arrow_targets,
    "shards": shard_targets,
    "models": model_targets,
    "projects": project_targets,
    "predictions": prediction_targets,
    "http": route_targets,
}


def all_targets() -> list[tuple[str, Target]]:
    """Every target with its family."""
    return [(family, target) for family, make in FAMILIES.items() for target in make()]


def warm_up() -> None:
    """Load and compile what the compiled readers need: that takes memory, which is no input's."""
    compiled = [target for _, target in all_targets() if target.name.endswith("compiled")]
    with tempfile.TemporaryDirectory() as folder:
        for target in compiled:
            for seed in target.seeds(Path(folder)):
                path = Path(folder) / f"input{target.suffix}"
                path.write_bytes(seed)
                target.read(path)


def is_ours(error: BaseException, path: Path, package: str) -> str | None:
    """None where an error is one that we raise on purpose and names the file; else what is wrong with it."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = "" if frame is None else frame.tb_frame.f_code.co_filename
    if not isinstance(error, ValueError) or not where.startswith(package):
        return "not an error of ours"
    if isinstance(error, UnicodeError):
        return "not an error of ours"
    told = str(error)
    if isinstance(error, FormatError) and error.path is None and "task" not in told:
        return "names no file"
    return None if path.name in told or "task" in told or "JSON" in told else "names no file"


def make_seeds(target: Target) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return target.seeds(Path(folder))

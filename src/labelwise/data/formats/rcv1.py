"""The published files of Reuters RCV1-v2: vectors `docid term:weight ...`, and beside them `LABEL docid 1` (qrels).

Lewis, Yang, Rose & Li, "RCV1: a new benchmark collection for text categorization research", JMLR 5, 2004, appendices 12
and 8 to 10. A line of vectors is one of libsvm text with the number of the document in place of a label.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data.errors import FormatError, refuse_losses, repeated, shown
from labelwise.data.formats.cells import check_dtype, sparse_cells
from labelwise.data.formats.xmc import read_block
from labelwise.data.reading import decode, line_blocks, numbered
from labelwise.files import AnyPath, split_name, writing
from labelwise.records import LabelData

VECTORS = "lyrl2004_vectors_"
PACKED = ("", ".gz", ".bz2")


def read(path: AnyPath, *, labels: AnyPath = "topics", dtype: npt.DTypeLike = np.float64) -> LabelData:
    """Read vectors and their labels, plain or compressed.

    Parameters
    ----------
    path : a file of vectors, or the folder of the files lyrl2004_vectors_*.dat, which are then read one after another
    labels : "topics", "industries" or "regions", whose file rcv1-v2.topics.qrels is beside the vectors; or the path of
        a file. All of its labels are labels here; documents that it does not name have none.
    dtype : float64 or float32, of X
    """
    check_dtype(dtype)
    files = vector_files(path) if Path(path).is_dir() else [Path(path)]
    if not files:
        raise FormatError(f"there is no file {VECTORS}*.dat or .dat.gz in this folder", path)
    judged = judgements(path, str(labels))
    if judged is None:
        raise FormatError(
            f"there is no file rcv1-v2.{labels}.qrels or .qrels.gz beside it; give labels=, the path of the one to use",
            path,
        )
    parts = [_vectors(file) for file in files]
    documents = np.concatenate([numbers for numbers, _ in parts])
    if (twice := repeated(map(str, documents.tolist()))) is not None:
        raise FormatError(f"the document {twice} is there twice", path)
    width = max(X.shape[1] for _, X in parts)
    for _, X in parts:
        X.resize(X.shape[0], width)
    names, Y = _labels(judged, documents)
    return LabelData(
        X=sp.csr_array(sp.vstack([X for _, X in parts], format="csr"), dtype=dtype),
        Y=Y,
        observed=None,
        item_ids=tuple(map(str, documents.tolist())),
        label_names=names,
    )


def write(data: LabelData, path: AnyPath, *, labels: str = "topics", lossy: bool = False) -> None:
    """Write vectors and beside them rcv1-v2.topics.qrels; both are complete before either takes its name.

    Ids must be whole numbers, and a label that no item has cannot be said. There is no place for feature names and
    `items`: with `lossy=True` they are left out, otherwise that is an error.
    """
    refuse_losses(data, path, "RCV1 text", ("item_ids", "label_names"), lossy)
    if data.n_observed < data.n_items * data.n_labels:
        raise FormatError("RCV1 text cannot say that a label is unknown; use jsonl", path)
    wrong = [name for name in data.item_ids if not (name.isdecimal() and name.isascii() and len(name) < 10)]
    if wrong:
        raise FormatError(f"found the id {shown(wrong[0])}, expected whole numbers below 10⁹, as of documents", path)
    wrong = [name for name in data.label_names if not name or len(name.split()) > 1 or name != name.strip()]
    if wrong:
        raise FormatError(f"the label {wrong[0]!r} has blanks, which separate columns there; rename it", path)
    unused = np.flatnonzero(np.asarray(data.Y.sum(0)).ravel() == 0)
    if unused.size:
        raise FormatError(f"no item has the label {data.label_names[unused[0]]!r}, which RCV1 text cannot say", path)
    Y = sp.csr_array(data.Y)
    with (
        writing(Path(path).with_name(f"rcv1-v2.{labels}.qrels{split_name(path)[2]}")) as qrels,
        writing(path) as vectors,
    ):
        cells = sparse_cells(data.X, 1, ":")
        for name, (start, stop), row in zip(data.item_ids, pairwise(Y.indptr.tolist()), cells, strict=True):
            vectors.write(" ".join([f"{name} ", *row]).encode() + b"\n")
            qrels.writelines(f"{data.label_names[label]} {name} 1\n".encode() for label in Y.indices[start:stop])


def vector_files(folder: AnyPath) -> list[Path]:
    """The files of vectors in a folder, those to train on before those to test on.

    >>> vector_files("/there/is/no/such/folder")
    []
    """
    found = [file for packed in PACKED for file in Path(folder).glob(f"{VECTORS}*.dat{packed}")]
    return sorted(found, key=lambda file: ("train" not in file.name, file.name))


def judgements(path: AnyPath, labels: str) -> Path | None:
    """The file of a group of labels in a folder, or beside a file; or the file itself, where its path is given."""
    if split_name(labels)[1] == ".qrels":
        return Path(labels)
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    candidates = (folder / f"rcv1-v2.{labels}.qrels{packed}" for packed in PACKED)
    return next((file for file in candidates if file.exists()), None)


def _vectors(path: Path) -> tuple[npt.NDArray[np.int64], sp.csr_array]:
    """Numbers of the documents and their (n, terms) weights; term 1 is column 0."""
    _, block = read_block(path, None, (1, 0))
    if (wrong := np.flatnonzero(block.label_counts != 1)).size:
        raise FormatError(
            f"row {wrong[0] + 1} has {block.label_counts[wrong[0]]} document numbers, expected one and then its terms "
            "like 13:0.04",
            path,
        )
    ends = np.concatenate([[0], np.cumsum(block.lengths)])
    shape = (len(block.lengths), int(block.columns.max(initial=-1)) + 1)
    X = sp.csr_array((block.values, block.columns, ends), shape=shape)
    X.eliminate_zeros()
    return block.labels.astype(np.int64), X


def _labels(path: Path, documents: npt.NDArray[np.int64]) -> tuple[tuple[str, ...], sp.csr_array]:
    """The labels of a file in their order, and the (n, q) matrix of these documents."""
    parts = list(_judged(path))
    if not parts:
        raise FormatError("the file is empty, expected lines like GCAT 2286 1", path)
    names, label = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    document = np.concatenate([part[1] for part in parts])
    order = np.argsort(documents)
    place = np.minimum(np.searchsorted(documents, document, sorter=order), len(order) - 1)
    ours = documents[order[place]] == document
    rows, columns = order[place[ours]], label[ours]
    Y = sp.coo_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(len(documents), len(names)))
    return tuple(decode(name, "utf-8", path, 1) for name in names.tolist()), sp.csr_array(Y)


def _judged(path: Path) -> Iterator[tuple[npt.NDArray[np.bytes_], npt.NDArray[np.int64]]]:
    """Labels and documents of a file, block by block."""
    for block, line in numbered(line_blocks(path), line=1):
        cells = block.split()
        numbers = cells[1::3]
        if len(cells) % 3 or any(cell != b"1" for cell in cells[2::3]) or not all(map(bytes.isdigit, numbers)):
            raise _fault(block, line, path)
        if cells:
            yield np.array(cells[::3]), np.array(numbers).astype(np.int64)


def _fault(block: bytes, line: int, path: Path) -> FormatError:
    expected = "expected a label, the number of a document and 1, like GCAT 2286 1"
    for number, row in enumerate(block.split(b"\n"), start=line):
        cells = row.split()
        if cells and (len(cells) != 3 or not cells[1].isdigit() or cells[2] != b"1"):
            return FormatError(f"found {shown(decode(row, 'utf-8', path, number).strip())}, {expected}", path, number)
    return FormatError(f"lines run into each other, {expected}", path, line)

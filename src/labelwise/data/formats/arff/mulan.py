"""Mulan's format: an ARFF file, and beside it an XML file that names the labels."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from labelwise.data.errors import FormatError, Problem, repeated, shown
from labelwise.data.formats.arff.header import Header
from labelwise.data.formats.arff.reader import read_arff, write_arff
from labelwise.data.reading import line_blocks
from labelwise.files import AnyPath, split_name, writing
from labelwise.records import LabelData

NAMESPACE = "http://mulan.sourceforge.net/labels"
PARTS = re.compile(r"[-_](?:train|test|sparse)$", re.IGNORECASE)  # of file names that share the XML of the whole set
NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read(
    path: AnyPath,
    *,
    labels: AnyPath | None = None,
    dtype: npt.DTypeLike = np.float64,
    encoding: str = "utf-8",
) -> LabelData:
    """Read an ARFF file whose labels an XML file names.

    Parameters
    ----------
    labels : path of the XML file; None looks beside the ARFF file, see `find_xml`
    path, dtype, encoding : as of every ARFF file, see `arff.files.read`
    """
    xml = find_xml(path) if labels is None else Path(labels)
    if xml is None:
        tried = ", ".join(candidate.name for candidate in xml_candidates(path))
        raise FormatError(f"no XML file names its labels (looked for {tried}); give its path as labels=", path)
    names = read_label_names(xml)
    return read_arff(path, lambda header: label_positions(header, names, xml), dtype, encoding)


def write(data: LabelData, path: AnyPath, *, lossy: bool = False) -> None:
    """Write ARFF as `write_arff` does, and beside it the XML file; both are complete before either takes its name."""
    for name in data.label_names:
        if NOT_IN_XML.search(name):
            raise FormatError(f"the label name {name!r} holds a character that XML cannot; rename it", path)
    stem = split_name(path)[0]
    root = ET.Element("labels", xmlns=NAMESPACE)
    for name in data.label_names:
        ET.SubElement(root, "label", name=name)
    ET.indent(root, space="")
    with writing(Path(path).with_name(f"{stem}.xml")) as xml:
        xml.write(ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")
        write_arff(data, path, stem, labels_first=False, lossy=lossy)


def xml_candidates(path: AnyPath) -> list[Path]:
    """Where the XML file of an ARFF file may be: under its own name, or without -train, -test, -sparse.

    >>> [candidate.name for candidate in xml_candidates("Corel5k-train-sparse.arff.gz")]
    ['Corel5k-train-sparse.xml', 'Corel5k-train.xml', 'Corel5k.xml']
    """
    stem = split_name(path)[0]
    stems = [stem]
    while (shorter := PARTS.sub("", stem)) != stem:
        stems.append(shorter)
        stem = shorter
    return [Path(path).with_name(f"{stem}.xml") for stem in stems]


def find_xml(path: AnyPath) -> Path | None:
    """The first of `xml_candidates` that is there."""
    return next((candidate for candidate in xml_candidates(path) if candidate.exists()), None)


def read_label_names(path: AnyPath) -> list[str]:
    """The names in an XML file, those of nested labels too."""
    try:
        root = ET.fromstring(b"".join(line_blocks(path)))
    except ET.ParseError as error:
        raise FormatError(f"this is not well-formed XML ({error})", path, error.position[0]) from None
    if _local(root) != "labels":
        raise FormatError(f"found <{_local(root)}> as the root of the XML, expected <labels>", path)
    names: list[str] = []
    for element in itertools.islice(root.iter(), 1, None):
        name = element.get("name")
        if _local(element) != "label" or name is None:
            raise FormatError(f"found <{_local(element)}> without a name, expected <label name=...>", path)
        names.append(name)
    if not names:
        raise FormatError("it names no label", path)
    if (twice := repeated(names)) is not None:
        raise FormatError(f"the label {twice!r} is named twice", path)
    return names


def label_positions(header: Header, names: Sequence[str], source: AnyPath) -> list[int]:
    """The attributes that are labels. Names may carry the backslashes of ARFF, as delicious' XML file does."""
    place = {attribute.name: position for position, attribute in enumerate(header.attributes)}
    plain = [name if name in place else re.sub(r"\\(.)", r"\1", name) for name in names]
    missing = [name for name in plain if name not in place]
    if missing:
        raise Problem(
            f"{len(missing)} of the labels named in {source} are no attribute here: {shown(missing, 200)}; "
            "is that the list of another data set?"
        )
    positions = [place[name] for name in plain]
    if (twice := repeated(plain)) is not None:
        raise Problem(f"the label {twice!r} is named twice in {source}")
    return positions


def _local(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]

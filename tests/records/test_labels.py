"""Labels as records: what may be said of one, and that data keep it."""

import numpy as np
import pytest

from labelwise import Label, LabelData


def data(**options):
    return LabelData.from_arrays(np.eye(3), **options)


def test_names_alone_make_labels():
    assert data(label_names=["a", "b"]).labels == (Label("a"), Label("b"))
    assert data(Y=np.eye(3)).labels[2] == Label("label_2")


@pytest.mark.parametrize(
    "given",
    [
        [Label("joy", "being glad"), "fear"],
        [{"name": "joy", "description": "being glad"}, {"name": "fear", "description": None}],
        {"joy": "being glad", "fear": ""},
    ],
)
def test_labels_in_any_form(given):
    found = data(labels=given)
    assert found.label_names == ("joy", "fear")
    assert found.labels == (Label("joy", "being glad"), Label("fear"))


def test_labels_are_kept_by_everything_that_keeps_names():
    found = data(labels={"joy": "being glad", "fear": ""})
    for other in (
        found.take([0, 2]),
        found.hide(),
        found.with_items(LabelData.from_arrays(np.eye(3), label_names=["joy", "fear"], item_ids="xyz")),
    ):
        assert other.labels[0].description == "being glad"
    assert found.with_label(Label("rage", "anger")).labels[2].description == "anger"
    assert found.with_label("rage").label_names == ("joy", "fear", "rage")


def test_labels_go_by_name():
    found = data(label_names=["fear", "joy"], labels=[Label("joy", "being glad")])
    assert [label.description for label in found.labels] == ["", "being glad"]
    with pytest.raises(ValueError, match="description of the label 'rage', but no such label"):
        data(label_names=["fear"], labels={"rage": "anger"})


def test_lists_may_be_one_text():
    label = Label.of({"name": "joy", "keywords": "glad; happy ;", "aliases": ["delight"]})
    assert (label.keywords, label.aliases) == (("glad", "happy"), ("delight",))
    assert Label.of(label.as_dict()) == label
    assert Label("x").as_dict() == {"name": "x"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": " "}, "every label needs a name, got ' '"),
        ({"description": "x"}, "a label needs a name"),
        ({"name": "x", "colour": "red"}, "a label has no 'colour'"),
        ({"name": "x", "description": 3}, "description of the label 'x' must be a text, got 3"),
        ({"name": "x", "keywords": 3}, "keywords of the label 'x' must be a list of texts, got 3"),
        ({"name": "x", "keywords": [3]}, "keywords of the label 'x' must be texts, got 3"),
    ],
)
def test_what_is_wrong_is_said(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Label.of(given)


def test_a_name_given_twice_is_refused():
    with pytest.raises(ValueError, match="label name 'joy' is given twice"):
        data(labels=["joy", "joy"])

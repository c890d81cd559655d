import base64
import io
import math

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from labelwise.data.bundled import make_digit_pictures
from labelwise.labelling import Project, ProjectError, TrainedLabeller
from labelwise.labelling.items.features import N_COLOURS, N_EDGES, Featurizer, pack, picture_histograms, unpack
from letter_encoder import Letters


def test_rows_survive_packing():
    X = np.random.default_rng(0).standard_normal((5, 3))
    assert np.array_equal(unpack(pack(X), 3, sparse=False), X)
    S = sp.random_array((6, 9), density=0.3, format="csr", rng=np.random.default_rng(1))
    again = unpack(pack(S), 9, sparse=True)
    assert np.array_equal(again.toarray(), S.toarray())
    assert again.shape == (6, 9)


def test_words_are_learnt_from_the_pool_and_blanks_are_empty_rows():
    featurizer = Featurizer({"kind": "text", "field": "body"}).fit([{"body": "red car"}, {"body": "blue car"}])
    X = featurizer.transform([{"body": None}, {"body": "green car"}])
    assert X.shape == (2, 3)
    assert np.diff(X.indptr).tolist() == [0, 1]


def test_texts_without_words_are_told():
    with pytest.raises(ProjectError, match="no features can be made"):
        Featurizer({"kind": "text", "field": None}).fit(["", "!"])


def test_pictures_from_files_and_addresses_are_the_same(tmp_path):
    address = make_digit_pictures(1).items[0]["image"]
    path = tmp_path / "digit.png"
    path.write_bytes(base64.b64decode(address.partition(",")[2]))
    featurizer = Featurizer({"kind": "images", "field": None})
    X = featurizer.transform([address, str(path)])
    assert X.shape == (2, N_COLOURS + N_EDGES)
    assert np.array_equal(X[0], X[1])
    assert [(block.name, block.width) for block in featurizer.blocks()] == [("colours", 64), ("edges", 128)]


def painted(points):
    file = io.BytesIO()
    Image.fromarray(np.asarray(points, dtype=np.uint8), "RGB").save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def test_histograms_of_pictures_against_loops():
    rng = np.random.default_rng(0)
    points = rng.integers(256, size=(64, 64, 3))
    found = picture_histograms(painted(points))
    colours, edges = np.zeros((4, 4, 4)), np.zeros((4, 4, 8))
    grey = points.mean(axis=2)
    for row in range(64):
        for column in range(64):
            colours[tuple(points[row, column] // 64)] += 1 / 64**2
            above, below = max(row - 1, 0), min(row + 1, 63)
            left, right = max(column - 1, 0), min(column + 1, 63)
            down = (grey[below, column] - grey[above, column]) / (below - above)
            along = (grey[row, right] - grey[row, left]) / (right - left)
            angle = math.atan2(down, along) % math.pi
            edges[row // 16, column // 16, int(angle / math.pi * 8) % 8] += math.hypot(down, along)
    np.testing.assert_allclose(found[:64] ** 2, colours.ravel(), atol=1e-12)
    np.testing.assert_allclose(found[64:] ** 2, edges.ravel() / edges.sum(), atol=1e-9)


def test_a_picture_of_one_colour_has_no_edges():
    found = picture_histograms(painted(np.full((30, 50, 3), [255, 0, 0])))
    assert found[:64].tolist().count(1.0) == 1 and not found[64:].any()
    assert found[48] == 1.0  # the most red, no green, no blue


def test_pictures_may_have_vectors_of_an_encoder_that_is_given(tmp_path):
    pictures = make_digit_pictures(30)
    with Project.create(tmp_path / "p.db", pictures.hide(), images="image", embed="letter_encoder:Letters") as project:
        project.refresh()
        assert [block.name for block in project.campaign().data.blocks][:2] == ["colours", "edges"]
        vectors = project.campaign().data.blocks[2]
        expected = Letters().encode([item["image"] for item in pictures.items])
        np.testing.assert_array_equal(vectors.of(project.campaign().data.X), expected)
        lease = project.ask(who="ann")[0]
        project.service.answer(lease.token, dict.fromkeys(lease.question.labels, True))
        assert project.predict().probabilities.shape == (30, 8)


def test_models_of_pixels_are_to_be_trained_again():
    featurizer = Featurizer({"kind": "images", "field": None})
    del featurizer.pictures  # as it was saved by 0.1
    labeller = TrainedLabeller(None, ["a"], featurizer)
    with pytest.raises(ProjectError, match="train it again"):
        labeller.posterior([make_digit_pictures(1).items[0]["image"]])


@pytest.mark.parametrize("content", ["missing.png", "data:image/png;base64,AAAA"])
def test_a_broken_picture_is_told(tmp_path, content):
    with pytest.raises(ProjectError, match="cannot be read"):
        Featurizer({"kind": "images", "field": None}).transform([content])


def test_an_unknown_kind_is_told():
    with pytest.raises(ProjectError, match="got 'sound'"):
        Featurizer({"kind": "sound"})

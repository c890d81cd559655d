"""Maps are looked at by people; here only what they claim is checked: what is drawn where."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.records import LabelData
from labelwise.studies import maps
from labelwise.studies.simulate import Schedule, split


@pytest.fixture(scope="module")
def plane() -> LabelData:
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    return LabelData.from_arrays(X, np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.7]), label_names=["right", "high"])


def test_the_chosen_items_are_drawn_where_they_are(plane):
    schedule = Schedule(start=5)
    pool, _ = split(plane, schedule, 0)
    start = list(pool.item_ids[:5])
    chosen = [item for item in pool.item_ids if item not in start][:7]
    figure = maps.draw_chosen(pool, {"random": [*start, *chosen], "uncertainty": start}, start)
    first, second = figure.axes
    dots = first.collections[-1].get_offsets()
    rows = [pool.item_ids.index(item) for item in chosen]
    assert np.allclose(np.sort(np.asarray(dots), axis=0), np.sort(pool.X[rows], axis=0))
    assert first.get_title(loc="left") == "random: 7 items"
    assert second.get_title(loc="left") == "uncertainty: 0 items"


def test_maps_show_each_label_and_every_item(plane):
    by_label = maps.draw_labels(plane, columns=3)
    assert [ax.get_title(loc="left") for ax in by_label.axes] == ["right", "high"]
    drawn = np.asarray(by_label.axes[0].collections[1].get_offsets())
    assert (drawn[:, 0] > 0.5).all() and len(drawn) == plane.Y[:, [0]].count_nonzero()
    whole = maps.draw_regions(plane)
    assert max(len(c.get_offsets()) for c in whole.axes[0].collections) == plane.n_items


def test_only_a_plane_can_be_drawn(small):
    for draw in (maps.draw_regions, maps.draw_labels):
        with pytest.raises(ValueError, match="two dense features can be drawn as a map, these have 4"):
            draw(small)

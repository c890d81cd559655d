"""Support tickets of a made-up shop for bicycles and their parts: short texts with tags, written for this package.

Each ticket tells one to three things, each in one of several wordings; the tags follow from what is told, and some from
the tone. They read like tickets and are as hard as those: the same words serve several tags. The wordings are in
tickets.json: {product}, {days} and {name} are filled in.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from labelwise.records import LabelData

PHRASES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
STORIES, TONES = PHRASES["stories"], PHRASES["tones"]  # what can be told: tags, and ways to tell it


def make_tickets(n_items: int = 400, random_state: int = 0) -> LabelData:
    """Tickets with all their tags known; `hide()` them to start a project.

    Parameters
    ----------
    n_items : int
    random_state : int

    Examples
    --------
    >>> tickets = make_tickets(50)
    >>> tickets.n_items, 18 <= tickets.n_labels <= 26
    (50, True)
    >>> len(tickets.items[0]["text"]) > 20
    True
    """
    rng = np.random.default_rng(random_state)
    names = sorted({tag for story in (*STORIES, *TONES) for tag in story["tags"]})
    texts: dict[str, set[str]] = {}
    while len(texts) < n_items:
        text, tags = _ticket(rng)
        texts.setdefault(text, tags)
    Y = np.array([[name in tags for name in names] for tags in texts.values()])
    return LabelData.from_arrays(
        np.array([[len(text)] for text in texts], dtype=np.float64),  # projects make their features of the text
        Y,
        item_ids=[f"T{number:04d}" for number in range(1, n_items + 1)],
        label_names=names,
        items=[{"text": text} for text in texts],
        feature_names=["length"],
    )


def _ticket(rng: np.random.Generator) -> tuple[str, set[str]]:
    count = rng.choice([1, 2, 3], p=[0.6, 0.32, 0.08])
    told = [STORIES[i] for i in rng.choice(len(STORIES), count, replace=False)]
    told += [tone for tone in TONES if rng.random() < 0.15]
    product, name = rng.choice(PHRASES["products"]), rng.choice(PHRASES["names"])
    sentences = [str(rng.choice(story["wordings"])) for story in told]
    body = " ".join(sentences).format(product=product, days=rng.integers(3, 21))
    text = " ".join(part for part in (rng.choice(PHRASES["openings"]), body) if part)
    ending = str(rng.choice(PHRASES["endings"])).format(name=name)
    return f"{text}\n{ending}".strip(), {tag for story in told for tag in story["tags"]}

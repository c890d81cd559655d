import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score

from labelwise.data import make_tickets
from labelwise.data.made_up.tickets import STORIES, TONES
from labelwise.models import BinaryRelevance


def test_tickets_are_some_hundred_different_texts_with_about_twenty_tags():
    tickets = make_tickets()
    texts = [item["text"] for item in tickets.items]
    assert len(set(texts)) == 400
    assert 18 <= tickets.n_labels <= 28
    assert 1.5 < tickets.cardinality < 4
    assert tickets.Y.sum(0).min() >= 5, "every tag is seen often enough to be learnt"
    assert not any("{" in text for text in texts)


def test_the_same_seed_gives_the_same_tickets():
    assert make_tickets(30, random_state=3).items == make_tickets(30, random_state=3).items
    assert make_tickets(30, random_state=3).items != make_tickets(30, random_state=4).items


def test_tags_can_be_learnt_from_the_words_but_not_at_once():
    tickets = make_tickets(400)
    X = TfidfVectorizer().fit_transform([item["text"] for item in tickets.items])
    Y = tickets.Y.toarray()
    scores = [
        f1_score(Y[300:], BinaryRelevance().fit(X[:n], Y[:n]).predict(X[300:]), average="micro") for n in (40, 300)
    ]
    assert scores[0] < 0.75 < scores[1]
    assert len({wording for story in (*STORIES, *TONES) for wording in story["wordings"]}) > 40
    assert np.unique(Y, axis=0).shape[0] > 100

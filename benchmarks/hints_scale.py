"""What hints and vectors cost where there is much to compare: 100 000 texts and 300 labels.

    python benchmarks/hints_scale.py [--quick] [--page-only]

Texts of 60 words are made up of 300 topics, whose names are the labels. `learn` is the CPU time to learn the hints of
the pool (its vocabulary and its semantics), `score` that to score all items for all labels by blocks, and `peak_gib`
the most memory that the process ever held, the texts included. tf-idf is not counted: it is made anyway.

`page`: a project of as many texts of 12 words, served as people serve it, whose worker makes vectors by MiniLM and
trains meanwhile. One person answers 120 questions over HTTP, each a second or so after the last, faster than anybody
reads. Timed is the request that saves an answer and brings the next question, and a request for questions alone.
`encoded` says how many vectors were made between the first and the last request, `trainings` how often the worker has
trained meanwhile. It needs the extra `embed`; without it there is no `page`.
"""

import argparse
import importlib.util
import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

import labelwise as lw
from labelwise.encoders.minilm import PACKAGE
from labelwise.hints import learn_hints
from labelwise.labelling import Project
from labelwise.labelling.store.trainings import read_trainings
from labelwise.labelling.web.reach import local_secret

ITEMS, LABELS, WORDS = 100_000, 300, 60
SECONDS, GIB, PAGE_MS = 60.0, 2.0, 300.0
SHORT, ANSWERS, THINKING = 12, 120, 1.2  # words of a text, answers, and seconds between them
LONGEST_START = 600.0  # seconds until the first question is there and the worker makes vectors
BLOCK = 4096
SYLLABLES = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu"]


def texts(n, q, rng, length=WORDS):
    """Texts of 300 topics with 20 words each of their own, and of words that all share."""
    words = np.array(["".join(word) for word in np.array(np.meshgrid(*[SYLLABLES] * 5)).reshape(5, -1).T])
    own, common = words[: q * 20].reshape(q, 20), words[q * 20 :]
    zipf = 1 / np.arange(1, common.size + 1)
    topic = rng.integers(q, size=n)
    drawn = common[rng.choice(common.size, p=zipf / zipf.sum(), size=(n, length))]
    is_own = rng.random((n, length)) < 0.3
    drawn[is_own] = own[np.repeat(topic, length).reshape(n, length)[is_own], rng.integers(20, size=int(is_own.sum()))]
    return [" ".join(row) for row in drawn], own[:, 0], topic


class PageClient:
    """The requests of the labelling page, by one person."""

    def __init__(self, port, secret):
        self.base = f"http://127.0.0.1:{port}"
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        page = self._open("/enter", urllib.parse.urlencode({"secret": secret}).encode())
        self.csrf = re.search(r'name="csrf-token" content="([0-9a-f]+)"', page.decode())[1]

    def _open(self, path, body=None, **headers):
        request = urllib.request.Request(self.base + path, body, {"Origin": self.base, **headers})
        with self.opener.open(request, timeout=120) as reply:
            return reply.read()

    def get(self, path):
        return json.loads(self._open(path))

    def post(self, path, body):
        headers = {"Content-Type": "application/json", "X-CSRF-Token": self.csrf}
        return json.loads(self._open(path, json.dumps(body).encode(), **headers))

    def encoded(self):
        found = self.get("/api/status")["encoding"]
        return found["done"], found["of"]


def page_while_encoding(n):
    made, names, topic = texts(n, LABELS, np.random.default_rng(1), SHORT)
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        location = str(Path(folder) / "texts.db")
        data = lw.LabelData.from_arrays(np.zeros((n, 0)), label_names=names, items=made)
        Project.create(location, data, text="", embed="minilm").close()
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        run = "from labelwise.cli import app; app()"
        command = [sys.executable, "-c", run, "serve", location, "--port", str(port)]
        env = os.environ | {"XDG_CACHE_HOME": str(Path(folder) / "cache")}  # no vectors of an earlier run
        server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return label_while_encoding(port, location, names, dict(zip(data.item_ids, topic.tolist(), strict=True)))
        finally:
            server.terminate()
            server.wait()


def label_while_encoding(port, location, names, topic_of):
    began = time.monotonic()
    client, question, asked_at = None, None, None
    while question is None or client.encoded()[0] == 0:
        if time.monotonic() - began > LONGEST_START:
            raise SystemExit(f"after {LONGEST_START:.0f} s there was no question, or no vector")
        time.sleep(0.5)
        try:
            client = client or PageClient(port, local_secret(Path(f"{location}.derived")))
            question = next(iter(client.post("/api/ask", {"items": 3})["questions"]), None)
        except (OSError, TypeError):  # it does not listen yet
            continue
        if question is not None and asked_at is None:
            asked_at = time.monotonic() - began
    encoding_at = time.monotonic() - began
    before, trained, first = client.encoded()[0], trainings(location), time.monotonic()
    answer_ms, ask_ms = [], []
    for _ in range(ANSWERS):
        values = dict.fromkeys([label["name"] for label in question["labels"]], False)
        values[names[topic_of[question["item"]]]] = True
        clock = time.perf_counter()
        reply = client.post("/api/answer", {"lease": question["lease"], "values": values, "items": 1})
        answer_ms.append(1000 * (time.perf_counter() - clock))
        clock = time.perf_counter()
        asked = client.post("/api/ask", {"items": 1})
        ask_ms.append(1000 * (time.perf_counter() - clock))
        question = next(iter([*asked["questions"], *reply.get("questions", ())]))
        time.sleep(THINKING)
    after, of = client.encoded()
    return {
        "requests": len(answer_ms) + len(ask_ms),
        "first_question_s": round(asked_at, 1),
        "first_vectors_s": round(encoding_at, 1),
        "answer_ms": quantiles(answer_ms),
        "ask_ms": quantiles(ask_ms),
        "p99_ms": round(float(np.quantile(answer_ms + ask_ms, 0.99)), 1),
        "labelling_s": round(time.monotonic() - first, 1),
        "trainings": trainings(location) - trained,
        "encoded": after - before,
        "encoded_of": of,
        "load": round(os.getloadavg()[0], 1),
    }


def trainings(location):
    with Project(location) as project, project.store.reading() as connection:
        return sum(row.state == "good" for row in read_trainings(connection))


def quantiles(times):
    return {
        name: round(float(np.quantile(times, at)), 1) for name, at in (("median", 0.5), ("p99", 0.99), ("worst", 1))
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the texts")
    parser.add_argument("--page-only", action="store_true", help="only the page while texts are encoded")
    options = parser.parse_args()
    n = ITEMS // 10 if options.quick else ITEMS
    figures = {} if options.page_only else cost_of_hints(n)
    page = page_while_encoding(n) if importlib.util.find_spec(PACKAGE) else None
    bars = {"seconds": SECONDS, "peak_gib": GIB}
    missed = [what for what, most in bars.items() if figures.get(what, 0.0) > most]
    if page is not None and (page["p99_ms"] > PAGE_MS or page["encoded"] == 0):
        missed.append("page")
    print(json.dumps(figures | {"page": page, "missed": missed}))


def cost_of_hints(n):
    made, names, topic = texts(n, LABELS, np.random.default_rng(0))
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    X = vectorizer.fit_transform(made)
    del made
    data = lw.LabelData.from_arrays(X, label_names=names, feature_names=vectorizer.get_feature_names_out())
    with threadpool_limits(1):
        began = time.process_time()
        hints = learn_hints(data)
        learnt = time.process_time()
        first = np.empty(n, dtype=np.intp)
        for start in range(0, n, BLOCK):
            first[start : start + BLOCK] = hints(data.X[start : start + BLOCK]).sum(axis=0).argmax(axis=1)
        scored = time.process_time()
    return {
        "items": n,
        "labels": LABELS,
        "words": data.n_features,
        "learn": round(learnt - began, 1),
        "score": round(scored - learnt, 1),
        "seconds": round(scored - began, 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "right": round(float(np.mean(first == topic)), 3),
    }


if __name__ == "__main__":
    main()

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from labelwise.campaign import Costs
from labelwise.studies.plans import ArenaFileError, Entrant, read_arena
from labelwise.studies.simulate import Schedule
from labelwise.studies.sources import Source

WHOLE = """
name = "mine"
seeds = [3, 5]
metrics = ["macro_f1", "log_loss"]
scale = "none"

[schedule]
start = 10
rounds = 2
batch = 5
pair_batch = 40
pool_limit = 300
test_limit = 200
test_share = 0.25
costs = { read = 2, answer = 0.5 }

[[data]]
source = "gaussian"
limit = 400

[[data]]
source = "sets/things.csv"
name = "things of mine"
test = "sets/test.csv"
labels = "tags"
text = "body"
id = "key"

[[entrants]]
model = "label_gp"
strategies = ["random", "uncertainty"]
options = { scale = "none" }

[[entrants]]
model = "binary_relevance"
strategies = ["random"]
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "sets").mkdir()
    for name in ("things.csv", "test.csv"):
        (tmp_path / "sets" / name).touch()
    path = tmp_path / "study.toml"
    path.write_text(WHOLE)
    return path


def test_a_named_price_list_with_own_prices(file):
    file.write_text(WHOLE.replace("read = 2", 'list = "long_text:low", read = 2'))
    assert read_arena(file).schedule.costs == replace(Costs.long_text("low"), read=2, answer=0.5)
    file.write_text(WHOLE.replace("read = 2", 'list = "tomes"'))
    with pytest.raises(ValueError, match=r"schedule\.costs: there is no price list 'tomes'; there are short_text"):
        read_arena(file)


def test_everything_that_is_written_arrives(file):
    arena = read_arena(file)
    assert (arena.name, arena.seeds, arena.metrics, arena.scale) == ("mine", (3, 5), ("macro_f1", "log_loss"), "none")
    assert arena.schedule == Schedule(10, 2, 5, 40, 0.25, 300, 200, Costs(2, 0.5))
    sets = file.parent / "sets"
    assert arena.sources == (
        Source("gaussian", limit=400),
        Source(str(sets / "things.csv"), "things of mine", sets / "test.csv", "tags", "body", "key"),
    )
    assert arena.entrants == (
        Entrant("label_gp", ("random", "uncertainty"), {"scale": "none"}),
        Entrant("binary_relevance", ("random",)),
    )


def test_what_is_left_out_has_its_default(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text('[[data]]\nsource = "yeast"\n[[entrants]]\nmodel = "label_gp"\nstrategies = ["random"]\n')
    arena = read_arena(path)
    assert (arena.name, arena.seeds, arena.schedule) == ("short", (0, 1, 2), Schedule())
    path.write_text("seeds = 5\n" + path.read_text())
    assert read_arena(path).seeds == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seeds = [3, 5]", "seeds = 0", "seeds is 0: give at least 1"),
        ("seeds = [3, 5]", 'seeds = ["a"]', "seeds is ['a']: list whole numbers, or give their count"),
        ("seeds = [3, 5]", "seeds = true", "seeds is True: write a whole number or a list in brackets"),
        ("scale = ", "sale = ", "sale is 'none': there is no such key; did you mean 'scale'?; there are name, seeds"),
        ('"macro_f1"', '"accuracy"', "metrics is 'accuracy': there is none of that name; there are precision_at_1"),
        ("rounds = 2", 'rounds = "two"', "schedule.rounds is 'two': write a whole number"),
        ("rounds = 2", "rounds = 2.5", "schedule.rounds is 2.5: write a whole number"),
        ("rounds = 2", "rounds = -2", "schedule: rounds must be at least 0, got -2"),
        (
            "rounds = 2",
            "round = 2",
            "schedule.round is 2: there is no such key; did you mean 'rounds'?; there are start",
        ),
        ("read = 2", "reed = 2", "schedule.costs.reed is 2: there is no such key; did you mean 'read'?"),
        ("read = 2", "read = -2", "schedule.costs: the cost of reading an item must be 0 or more, got -2"),
        ("limit = 400", "limit = 1", "data[0]: limit must be at least 2, got 1"),
        (
            'source = "gaussian"',
            "",
            "data[0].source is missing: name a built-in set (yeast, gaussian, ",
        ),
        (
            "sets/things.csv",
            "sets/thing.csv",
            "data[1].source is 'sets/thing.csv': there is no such file beside study.toml",
        ),
        ("sets/test.csv", "test.csv", "data[1].test is 'test.csv': there is no such file beside study.toml"),
        (
            '"label_gp"',
            '"labelgp"',
            "entrants[0].model is 'labelgp': there is none of that name; did you mean 'label_gp'?",
        ),
        ('"label_gp"', '"gpt"', "entrants[0].model is 'gpt': there is none of that name; there are auto"),
        ('"uncertainty"', '"clever"', "entrants[0].strategies is 'clever': there is none of that name"),
        ('["random"]', "[]", "entrants[1].strategies is []: list strategies, as"),
        ('strategies = ["random"]', "", "entrants[1].strategies is missing: list strategies, as"),
        ("start = 10", "start = ", "not TOML: Invalid value (at line 8"),
    ],
)
def test_what_is_wrong_is_told_with_file_key_value_and_cure(file, old, new, words):
    assert old in WHOLE
    file.write_text(WHOLE.replace(old, new, 1))
    with pytest.raises(ArenaFileError) as caught:
        read_arena(file)
    assert str(caught.value).startswith(f"{file}: {words}")


def test_tables_in_place_of_arrays_of_tables_are_refused(file):
    text = WHOLE[: WHOLE.index("[[data]]")] + '[data]\nsource = "yeast"\n'
    file.write_text(text)
    with pytest.raises(ArenaFileError, match=r"data is .*: write one \[\[data\]\] table per set"):
        read_arena(file)


def test_a_file_that_is_not_there_is_an_error_of_the_system():
    with pytest.raises(FileNotFoundError):
        read_arena(Path("none.toml"))

"""Rules by name."""

import numpy as np
import pytest

from labelwise.decisions import ClassMass, ExpectedF1, LabelTally, Threshold, TopLabels
from labelwise.posterior import MarginalPosterior
from labelwise.streams.judge import RULE_NAMES, StreamRule

P = np.random.default_rng(0).random((60, 4)) ** 2
SHARES = np.array([0.1, 0.3, 0.5, 0.0])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("class_mass", ClassMass(SHARES)),
        ("expected_f1", ExpectedF1(known_labels=SHARES > 0)),
        ("expected_f1_per_item", ExpectedF1("samples")),
        ("threshold", Threshold(0.5)),
        ("threshold:0.2", Threshold(0.2)),
        ("top_labels", TopLabels("expected")),
        ("top_labels:expected", TopLabels("expected")),
        ("top_labels:2", TopLabels(2)),
    ],
)
def test_a_name_stands_for_a_rule_on_windows_and_on_streams(text, rule):
    named, posterior = StreamRule.parse(text), MarginalPosterior(P)
    np.testing.assert_array_equal(named.decide(posterior, SHARES), rule.decide(posterior))
    if named.passes == 1:
        np.testing.assert_array_equal(named.per_item().decide(posterior), rule.decide(posterior))
    else:
        tally = LabelTally(4)
        tally.add(posterior)
        streamed = named.over_stream(tally, SHARES).decide(posterior)
        assert (streamed != rule.decide(posterior)).mean() < 0.01  # only neighbours in a bin may change places
        np.testing.assert_array_equal(streamed.any(0), rule.decide(posterior).any(0))


def test_every_name_is_known():
    assert [StreamRule.parse(name).name for name in RULE_NAMES] == list(RULE_NAMES)


@pytest.mark.parametrize("text", ["f1", "class_mass:3", "threshold:high", "top_labels:x", ""])
def test_what_is_no_rule_is_told(text):
    with pytest.raises(ValueError, match=r"threshold:0\.3"):
        StreamRule.parse(text)


@pytest.mark.parametrize("text", ["threshold:3", "threshold:-0.1", "threshold:nan", "top_labels:0", "top_labels:-2"])
def test_settings_out_of_range_are_told_before_any_row_is_read(text):
    with pytest.raises(ValueError, match=rf"got {text.split(':')[1]}"):
        StreamRule.parse(text)

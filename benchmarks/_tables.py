"""The tables of the docs from the saved figures; run it after a benchmark to bring the pages up to date.

    python benchmarks/_tables.py

A table stands between `<!-- name -->` and `<!-- end -->` on its page. Tests hold the pages to what this would write.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_peers"))

from peer_tables import table
from peer_tables import tables as of_peers

from _arena_tables import tables as of_arena
from labelwise import Costs

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MEASURED = ("macro_ap", "macro_f1")  # of hierarchies and windows
COSTS = ("scale", "information", "online", "label_gp", "mixture", "targets", "cooccurrence")  # benchmarks
PAPERS = ("miml", "csbpca", "bomc", "gpb2m", "mllcs")
VERDICTS = ("holds", "holds in part", "not shown", "does not hold")
DECISION_VERSIONS, DEFAULT_RULE = ("all labels", "rarer half"), "expected F1 per item, empty 0.5"
Tables = dict[str, str]  # name to text


def of_label_saving(figures: dict[str, Any]) -> Tables:
    """Shares of the answers that the default pair campaign needs, and what the default item campaign gains."""

    def cell(value: float | None) -> str:
        return "not within 90 %" if value is None else f"{value:.2f}"

    rows = [
        [name, *(cell(row[key]) for key in ("share", "macro_ap", "precision")), " ".join(map(_short, row["by_seed"]))]
        for name, row in figures["arms"]["default"].items()
    ]
    rows.append(["median", cell(figures["median"]["default"]), "", "", ""])
    head = ["set", "share of the answers", "for macro AP", "for precision@1–3", "each seed"]
    gains = [[name, *map(_points, (row["macro_ap"], row["precision"]))] for name, row in figures["items"].items()]
    return {
        "label saving": table(head, rows),
        "items": table(["set", "macro AP, points", "precision@1–3, points"], gains),
        "label saving seeds": f"{figures['seeds']} seeds.",
    }


def of_time_saving(figures: dict[str, Any]) -> Tables:
    """Shares of the usual way's time, by set, by price list and by arm."""
    arms, pairs = figures["arms"], figures["pairs"]
    titles = {
        "default": "default campaign",
        "random": "random items, same model",
        "named": "default, names known",
        "named_embedded": "with vectors, too",
    }
    default, kinds = arms["default"], [arm for arm in titles if arm in arms]
    rows = []
    for name in default:
        shares = [_short(arms[arm][name]["share"]) if name in arms[arm] else "" for arm in kinds]
        by_pairs = pairs.get(name, {}).get("short_text:mid")
        gain = {key: value or 0.0 for key, value in figures["over_random"][name].items()}
        rows.append([name, *shares, _points(gain), "" if by_pairs is None else f"{by_pairs:.1f}"])
    over = {arm: figures["arms_over_sets"][arm] for arm in kinds}
    rows += [[which, *(_short(over[arm][which]) for arm in kinds), "", ""] for which in ("median", "worst")]
    head = ["set", *(titles[arm] for arm in kinds), "gain over random, % of macro AP", "pairs"]
    lists = [
        [which.replace("_", " ").replace(":", ", "), *(_short(row[key]) for key in ("median", "worst"))]
        for which, row in figures["by_list"]["default"].items()
    ]
    others = []
    for arm, row in figures["arms_over_sets"].items():
        first = [float("inf") if each["by_seed"][0] is None else each["by_seed"][0] for each in arms[arm].values()]
        seeds = sorted({n for n in figures["runs"][arm].values() if n})  # of the sets that the arm has runs of
        others.append(
            [arm, _short(row["median"]), _short(row["worst"]), _short(median(first)), "–".join(map(str, seeds))]
        )
    return {
        "time saving": table(head, rows),
        "time saving lists": table(["price list", "median share", "worst share"], lists),
        "time saving arms": table(
            ["campaign", "median share", "worst share", "median of the first seed", "seeds"], others
        ),
        "time saving seeds": f"{figures['seeds']} seeds; {figures['sets_worse_than_random']} of {figures['sets']} sets"
        " worse than random beyond noise.",
    }


def of_forgetting(figures: dict[str, Any]) -> Tables:
    """What forgetting costs, and what verifying recovers."""
    rows = [
        [
            name,
            *(f"{row['macro_ap'][arm]:.3f}" for arm in ("full", "forgets", "verified")),
            *(f"{number / figures['items']:.1f}" for number in row["asked_and_found"]),
            f"{row['seconds']['verified'] / row['seconds']['forgets'] - 1:+.0%}",
        ]
        for name, row in figures["by_set"].items()
    ]
    head = ["set", "forgets nothing", "forgets", "verified", "labels asked about an item", "found", "time"]
    said = (
        f"Forgetting costs {figures['cost']:.3f}, verifying recovers {figures['recovered']:.0%} of it; at equal time it"
        f" brings {figures['equal_seconds']['verified']:+.3f}."
    )
    return {"forgetting": table(head, rows), "forgetting mean": said}


def of_stopping(figures: dict[str, Any]) -> Tables:
    """Regret of each stopping rule in hours, the least first, and its parts for each price."""
    rows = []
    for rule, regret in sorted(figures["mean_regret_hours"].items(), key=lambda pair: pair[1]):
        by_price = figures["rules"][rule]
        rows.append(
            [rule, f"{regret:.2f}", *(f"{row['wasted']:.2f} + {row['missed']:.2f}" for row in by_price.values())]
        )
    head = [f"a point is worth {float(price):g} h" for price in next(iter(figures["rules"].values()))]
    ours = figures["rules"][f"ours, risk {figures['risk']:g}"]
    too_soon = sum(row["too_soon"] for row in ours.values()) / len(ours)
    said = (
        f"{figures['sets']} sets, {max(figures['runs'].values())} seeds at most. At its default risk our rule regrets"
        f" {figures['ours_over_best_published']:.2f} times the hours of the best published one"
        f" ({figures['best_published']}), and stops before the best round in {too_soon:.0%} of the cases."
    )
    return {"stopping": table(["rule", "mean regret, hours", *head], rows), "stopping runs": said}


def of_online_hierarchy(figures: dict[str, Any]) -> Tables:
    """A hierarchy and windows against neither: average precision of `OnlineBayes`, and the gain in both measures."""
    rows = []
    for name, cases in figures["by_set"].items():
        for case, row in cases.items():
            gains = [_with_error(row[measure][f"{arm}_gain"]) for arm in ("tree", "window") for measure in MEASURED]
            rows.append([name, case, f"{row['macro_ap']['flat']:.3f}", f"{row['macro_f1']['flat']:.3f}", *gains])
    head = ["set", "learnt from", "AP", "F1", "hierarchy: AP", "F1", "window: AP", "F1"]
    tree, window = (figures[f"{arm}_gain"]["macro_ap"] for arm in ("tree", "window"))
    said = (
        f"Average precision over {tree['cases']} cases: the hierarchy is better in {tree['better']} and worse in "
        f"{tree['worse']} by more than two standard errors (mean {100 * tree['mean']:+.1f} points), the window"
        f" is better in {window['better']} and worse in {window['worse']} ({100 * window['mean']:+.1f})."
    )
    return {"online hierarchy": table(head, rows), "online hierarchy mean": said}


def _with_error(gain: list[float]) -> str:
    return f"{100 * gain[0]:+.1f} ± {100 * gain[1]:.1f}"


def of_default_decision(figures: dict[str, Any]) -> Tables:
    """Every rule's score, both measures on both versions of the sets, and what a young model predicts."""
    rows, details = [], []
    for rule, row in figures["rules"].items():
        error = "" if row["standard_error"] is None else f" ± {row['standard_error']:.3f}"
        measures = [f"{row[version][name]:.3f}" for version in DECISION_VERSIONS for name in ("sample_f1", "macro_f1")]
        rows.append([_rule(rule), f"{row['score']:.3f}", f"{row['gain']:+.3f}{error}", *measures, _yes(row["by_item"])])
        sizes = [f"{of_rules[rule]:.3f}" for of_rules in figures["by_size"].values()]
        by_model = [f"{of_rules[rule]:.3f}" for of_rules in figures["by_model"].values()]
        others = [f"{figures['in_fives'][rule]:.3f}", f"{figures['chosen'][rule]['score']:.3f}"]
        young = figures["young"][rule]
        details.append([_rule(rule), *sizes, *by_model, *others, f"{young['labels']:.1f}", str(young["most"])])
    head = [
        "rule",
        "score",
        "gain over p > ½",
        "sample-F1",
        "macro-F1",
        "sample-F1, rarer half",
        "macro-F1, rarer half",
    ]
    columns = [
        "rule",
        *(f"{size} items" for size in figures["by_size"]),
        *(f"`{name}`" for name in figures["by_model"]),
    ]
    columns += ["five at a time", "pair campaign", "labels per item, young", "most"]
    true = next(iter(figures["young"].values()))["true_labels"]
    return {
        "default decision": table([*head, "each item by itself"], rows),
        "default decision details": table(columns, details),
        "default decision sets": f"{len(figures['sets'])} sets, {figures['seeds']} seeds; true labels per item after "
        f"ten answered items: {true:.1f}.",
    }


def _rule(name: str) -> str:
    shown = name.replace("1/2", "½")
    return f"**{shown}**" if name == DEFAULT_RULE else shown


def _short(value: float | None) -> str:
    return "—" if value is None or value == float("inf") else f"{value:.2f}".removeprefix("0")


def _points(row: dict[str, float]) -> str:
    return f"{100 * row['gain']:+.1f} ± {100 * row['standard_error']:.1f}"


def of_scale(figures: dict[str, Any]) -> Tables:
    sizes = [f"{n:,}".replace(",", " ") + " items" for n in figures["items"]]
    rows = [
        ["processor seconds for 250 questions", *(f"{value:.1f}" for value in figures["cpu_seconds"])],
        ["peak memory, GiB", *(f"{value:.2f}" for value in figures["peak_gib"])],
    ]
    facts = {
        "the million against the bare passes over the same files": f"{figures['million_ratio_to_passes']:.2f} ×",
        "seconds grow as items to the power of": f"{figures['slope_time']:.2f}",
        "picks from 100 000 items as in memory": _yes(figures["same_picks"]),
        "two workers against one, 250 questions from the million": f"{figures['two_worker_speedup']:.2f} ×",
        "picks on the cluster as on one machine": _yes(figures["same_picks_on_cluster"]),
        "picks after `kill -9` of one of two workers in the middle": _yes(figures["same_picks_after_kill"], "the same"),
        "`OnlineBayes`, a million rows, 300 labels, two workers by labels against one": (
            f"{figures['online_two_worker_speedup']:.2f} ×"
        ),
        "macro-F1 of two blocks of labels less that of one process": f"{figures['online_f1_gap']:+.4f}",
        "macro-F1 lost by two parts of the rows that merge five times": f"{figures['online_rows_f1_loss']:+.4f}",
    }
    found = {"scale": table(["", *sizes], rows), "scale facts": table(["", ""], [list(each) for each in facts.items()])}
    return found | of_default_round(figures)


def of_default_round(figures: dict[str, Any]) -> Tables:
    if "default_items" not in figures:
        return {}
    rows = [
        ["processor seconds", *(f"{value:.1f}" for value in figures["default_round_seconds"])],
        ["those of reading all once, with a product", *(f"{v:.1f}" for v in figures["default_round_passes_seconds"])],
        ["peak memory, GiB", *(f"{value:.2f}" for value in figures["default_round_peaks_gib"])],
    ]
    return {"scale default": table(["", *(f"{_count(n)} items" for n in figures["default_items"])], rows)}


def of_costs(saved: Mapping[str, dict[str, Any]]) -> Tables:
    """What learning and choosing take, each at the size at which it was measured."""
    scale, information, online = saved["scale"], saved["information"], saved["online"]
    gp, mixture, targets, factors = saved["label_gp"], saved["mixture"], saved["targets"], saved["cooccurrence"]
    picks, million = scale["picks"], _count(scale["items"][-1])
    stream = f"{_count(online['stream_rows'])} rows of {online['nonzeros_per_row']:.0f} non-zeros, 300 labels"
    rows = [
        [
            f"`LabelGP`, fit: {_count(gp['rows'])} items, {gp['labels']} labels, kernel and noise given",
            _seconds(gp["fit_cpu_seconds"]),
            "",
        ],
        [
            f"`LabelGP`, fit: {_count(gp['masked_rows'])} items, {gp['masked_labels']} labels, each known of 200 items",
            _seconds(gp["masked_fit_cpu_seconds"]),
            "",
        ],
        [
            f"`OrthogonalTargetGP` with `TargetEntropy`: {targets['campaign_queries']} single questions on "
            f"{targets['campaign_data']}",
            _seconds(targets["campaign_cpu_seconds"]),
            "",
        ],
        [
            f"`CooccurrenceFactors`, fit: {factors['large_data']}, {_count(factors['large_items'])} items, "
            f"{factors['large_factors']} factors, {factors['large_sweeps']} sweeps",
            _seconds(factors["large_cpu_seconds"]),
            f"{factors['large_peak_gib']:.2f}",
        ],
        [
            f"`OnlineBayes`, one pass over a stream: {stream}",
            f"{_seconds(online['stream_cpu_seconds'])} with making up the rows",
            f"{online['stream_peak_gib'] + online['stream_weights_gib']:.2f}",
        ],
        [
            "`LabelCovariance` with `LabelMixtureGP`:"
            f" 10 of 500 drawn from {_count(mixture['pool_items'])} items, 300 labels",
            _seconds(mixture["pool_100k_seconds_default"]),
            "",
        ],
        [
            f"`MutualInformation`, {information['picks']} of {_count(information['lowrank_items'])} items, "
            f"{information['lowrank_features']} features, in memory",
            _seconds(information["lowrank_cpu_seconds"]),
            f"{information['lowrank_peak_gib']:.2f}",
        ],
        [
            f"`MutualInformation`, {picks} of {million} items, {scale['features']} features, in shards",
            _seconds(scale["million_cpu_seconds"]),
            f"{scale['million_peak_gib']:.2f}",
        ],
        [
            f"a round of a `Campaign`: `LabelGP`, {scale['campaign_asked']} of the same {million} items in shards",
            f"{_seconds(scale['campaign_wall_seconds'])} by the clock",
            f"{scale['campaign_peak_gib']:.2f}",
        ],
    ]
    return {"costs": table(["what", "processor seconds", "peak memory, GiB"], rows)}


def _count(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def _seconds(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _yes(value: bool, word: str = "yes") -> str:
    return word if value else "no"


def of_hours(figures: dict[str, Any]) -> Tables:
    """Hours of a person who reads short texts, for what the usual way reaches: median over sets, and the worst set."""
    prices = Costs.named("short_text:mid")
    ways = {
        "usual": "300 random items, one logistic regression per label",
        "random": "random items, the default model",
        "default": "the default campaign",
        "named": "the default campaign, labels with names that mean something",
        "named_embedded": "the same with vectors of a small language model beside the words",
    }
    rows = []
    for arm, title in ways.items():
        hours = []
        for row in figures["arms"]["default" if arm == "usual" else arm].values():
            items, picked, *_ = row["usual"]
            whole = (items * float(prices.whole_item()) + picked * float(prices.pick)) / 3600
            share = 1.0 if arm == "usual" else row["by_list"]["short_text:mid"]
            hours.append(float("inf") if share is None else share * whole)
        rows.append([title, str(len(hours)), f"{median(hours):.1f} h", f"{max(hours):.1f} h"])
    return {"hours": table(["to be as good as the usual way", "sets", "median", "worst"], rows)}


def of_papers(saved: Mapping[str, dict[str, Any]]) -> Tables:
    """Every paper's claims, the count of verdicts, and the macro-F1 of figure 5 of the second paper."""
    found = {f"claims {name}": _claims(content["claims"]) for name, content in saved.items()}
    verdicts = [_verdict(claim) for content in saved.values() for claim in content["claims"]]
    count = {verdict: verdicts.count(verdict) for verdict in VERDICTS}
    words = "{} hold, {} hold in part, {} are not shown and {} do not hold".format(*count.values())
    found["verdicts"] = f"The runs below, together: of {len(verdicts)} claims {words}."
    found["macro-F1 csbpca"] = _by_set(saved["csbpca"]["tables"], "Figure 5", _both_treatments)
    found["type two csbpca"] = _by_set(saved["csbpca"]["tables"], "Figures 6 and 7", _both_treatments)
    return found


def of_mixture_campaigns(saved: dict[str, Any]) -> Tables:
    """What each campaign gains over the default mixture with random questions, in points of macro ROC-AUC."""
    return {
        "gains gpb2m": _by_set(saved["tables"], "Figure 6: learning curves", lambda cells: _short_points(cells[-1]))
    }


def _both_treatments(cells: list[str]) -> str:
    return " / ".join(value.partition(" ")[0] for value in cells[:2])


def _short_points(cell: str) -> str:
    return cell.removesuffix(" points")


def _claims(claims: list[dict[str, str]]) -> str:
    rows = [[*(claim[key] for key in ("where", "says", "paper", "ours")), _verdict(claim)] for claim in claims]
    return table(["where", "claim", "the paper", "here", "verdict"], rows)


def _verdict(claim: dict[str, str]) -> str:
    """As it is called now; runs of before have another word for what noise may explain."""
    return claim["verdict"].replace("undecided", "not shown")


def _by_set(exhibits: list[dict[str, Any]], start: str, cell: Callable[[list[str]], str]) -> str:
    """The first such exhibit, with rows "set · method": methods down, sets across."""
    exhibit = next(each for each in exhibits if each["title"].startswith(start))
    cells: dict[str, dict[str, str]] = {}
    for name, *values in exhibit["rows"]:
        of_set, _, method = name.partition(" · ")
        cells.setdefault(method, {})[of_set] = cell(values)
    sets = list(dict.fromkeys(name.partition(" · ")[0] for name, *_ in exhibit["rows"]))
    return table(["", *sets], [[method, *(row.get(name, "—") for name in sets)] for method, row in cells.items()])


PAGES: dict[str, tuple[tuple[str, Callable[[dict[str, Any]], Tables]], ...]] = {
    "../README.md": (("time_saving", of_hours),),
    "peers.md": (("peers", of_peers),),
    "arena.md": (("arena", of_arena),),
    "study.md": (
        ("label_saving", of_label_saving),
        ("time_saving", of_time_saving),
        ("forgetting", of_forgetting),
    ),
    "large-pools.md": (("scale", of_scale),),
    "decisions.md": (("default_decision", of_default_decision),),
    "stopping.md": (("stopping", of_stopping),),
    "mixtures.md": (("reproduce_gpb2m", of_mixture_campaigns),),
    "mathematics/online_bayes.md": (("online_hierarchy", of_online_hierarchy),),
}


def wanted() -> dict[str, Tables]:
    """Page to its tables, of everything that is saved."""
    found: dict[str, Tables] = {}
    for page, benchmarks in PAGES.items():
        for name, make in benchmarks:
            if (RESULTS / f"{name}.json").exists():
                found.setdefault(page, {}).update(make(_figures(name)))
    papers = {name: _figures(f"reproduce_{name}") for name in PAPERS}
    costs = {name: _figures(name) for name in COSTS}
    return found | {"reproduce.md": of_papers(papers), "scale.md": of_costs(costs)}


def _figures(name: str) -> dict[str, Any]:
    saved = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    figures: dict[str, Any] = saved.get("figures", saved)
    return figures


def fill(text: str, tables: Tables) -> str:
    """The page with every table between its marks replaced."""
    for name, content in tables.items():
        pattern = rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda found, new=content: f"{found[1]}{new}\n{found[2]}", text, flags=re.S)
    return text


if __name__ == "__main__":
    for page, tables in wanted().items():
        path = ROOT / "docs" / page
        path.write_text(fill(path.read_text(encoding="utf-8"), tables), encoding="utf-8")

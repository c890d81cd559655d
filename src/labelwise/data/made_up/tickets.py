"""Support tickets of a made-up shop for bicycles and their parts: short texts with tags, written for this package.

Each ticket tells one to three things, each in one of several wordings; the tags follow from what is told, and some from
the tone. They read like tickets and are as hard as those: the same words serve several tags.
"""

from __future__ import annotations

import numpy as np

from labelwise.records import LabelData

# What can be told: tags, and ways to tell it. {} is filled with a product, a number of days, or a name.
STORIES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("delivery", "late"),
        (
            "My order of the {product} should have been here {days} days ago.",
            "Still waiting for the {product}. The tracking page has not changed for {days} days.",
            "You promised two days. It has been {days} and there is no sign of the {product}.",
        ),
    ),
    (
        ("delivery", "lost parcel"),
        (
            "The carrier says the parcel with the {product} was handed over, but nobody here has it.",
            "Tracking says delivered, yet my doormat is empty. Where is the {product}?",
        ),
    ),
    (
        ("delivery", "wrong address"),
        (
            "I moved last month and the {product} is on its way to my old flat. Can you redirect it?",
            "I mistyped the house number when ordering the {product}; it is 17, not 71.",
        ),
    ),
    (
        ("damaged", "return"),
        (
            "The {product} arrived with a deep scratch and I would like to send it back.",
            "The box was crushed and so is the {product}. How do I return it?",
        ),
    ),
    (
        ("damaged", "warranty"),
        (
            "After {days} days of normal riding the {product} cracked. Surely that is covered?",
            "The {product} broke on a flat road. I have had it for less than a year.",
        ),
    ),
    (
        ("return", "size"),
        (
            "The {product} is too small for me. May I swap it for the next size up?",
            "I ordered the {product} in M, but it fits like an S. I want to exchange it.",
        ),
    ),
    (
        ("return", "refund"),
        (
            "I sent the {product} back {days} days ago and have not seen my money.",
            "The {product} went back to you unused. When will the refund arrive?",
        ),
    ),
    (
        ("billing", "refund"),
        (
            "I was charged twice for the {product}. Please pay one of them back.",
            "My card shows two payments for a single {product}.",
        ),
    ),
    (
        ("billing", "invoice"),
        (
            "Our accounting needs an invoice with the VAT number for the {product}.",
            "I cannot find an invoice for the {product} in my mails. Could you send it once more?",
        ),
    ),
    (
        ("billing", "discount"),
        (
            "The voucher was not taken off the price of the {product}.",
            "I am a student and forgot to enter the code when I bought the {product}.",
        ),
    ),
    (
        ("account", "login"),
        (
            "I cannot log in any more. The page says my password is wrong, but it is not.",
            "The link to reset my password has expired before I could click it, twice.",
        ),
    ),
    (
        ("account", "privacy"),
        (
            "Please delete my account and everything you know about me.",
            "Which of my data do you pass on to the carrier? I want to see all of it.",
        ),
    ),
    (
        ("app",),
        (
            "The app closes by itself as soon as I open my orders.",
            "Since the update the app on my phone shows a white page.",
        ),
    ),
    (("app", "login"), ("The app throws me out every few minutes and I have to sign in again.",)),
    (
        ("compatibility",),
        (
            "Will the {product} fit a frame from 2015 with a threaded bottom bracket?",
            "Does the {product} work together with an eleven-speed chain?",
            "Before I buy: is the {product} compatible with disc brakes?",
        ),
    ),
    (
        ("assembly",),
        (
            "I cannot make sense of step four in the manual of the {product}.",
            "Two screws are left over after mounting the {product}. Is that right?",
        ),
    ),
    (
        ("assembly", "missing part"),
        (
            "The bag with the bolts was not in the box of the {product}.",
            "The {product} came without its washers, so I cannot mount it.",
        ),
    ),
    (
        ("stock",),
        (
            "When will the {product} be available again?",
            "Your page says sold out. Can you put a {product} aside for me?",
        ),
    ),
    (
        ("battery",),
        (
            "The battery of my e-bike is empty after ten kilometres.",
            "My e-bike does not charge past half, whatever I do.",
        ),
    ),
    (
        ("battery", "safety"),
        (
            "The battery gets so hot while charging that I am afraid to leave it alone.",
            "There was a smell of burning from the charger last night. I have unplugged it.",
        ),
    ),
    (
        ("brakes", "safety"),
        (
            "The rear brake of the {product} gives way without warning. I nearly rode into a car.",
            "I pulled the brake lever and it came off in my hand.",
        ),
    ),
    (
        ("brakes",),
        (
            "The brakes squeal so loudly that people turn round.",
            "How often should the brake pads be changed?",
        ),
    ),
)
TONES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("angry",),
        (
            "This is the third time I write. Does anybody read this?",
            "I am fed up and will tell everybody I know.",
            "Frankly, this is a disgrace.",
        ),
    ),
    (
        ("urgent",),
        (
            "I need an answer today, the race is on Saturday.",
            "It is my only way to work, so please hurry.",
        ),
    ),
    (
        ("praise",),
        (
            "Apart from that, I love riding it. Great work!",
            "Your colleague on the phone was wonderful, by the way.",
        ),
    ),
)
PRODUCTS = (
    "gravel bike",
    "rear light",
    "saddle",
    "helmet",
    "crank set",
    "child seat",
    "front wheel",
    "rain jacket",
    "pedals",
    "chain",
    "luggage rack",
    "handlebar",
    "city bike",
    "gloves",
    "lock",
    "pump",
)
OPENINGS = ("Hello,", "Hi there,", "Good morning,", "Dear team,", "", "")
ENDINGS = ("Thanks, {name}", "Best wishes, {name}", "{name}", "Regards, {name}", "")
NAMES = (
    "Ada",
    "Bilal",
    "Carla",
    "Deniz",
    "Elena",
    "Femi",
    "Gita",
    "Hugo",
    "Ines",
    "Jonas",
    "Kim",
    "Leo",
    "Mei",
    "Nora",
)


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
    names = sorted({tag for tags, _ in (*STORIES, *TONES) for tag in tags})
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
    product, name = rng.choice(PRODUCTS), rng.choice(NAMES)
    sentences = [str(rng.choice(wordings)) for _, wordings in told]
    body = " ".join(sentences).format(product=product, days=rng.integers(3, 21))
    text = " ".join(part for part in (rng.choice(OPENINGS), body) if part)
    ending = str(rng.choice(ENDINGS)).format(name=name)
    return f"{text}\n{ending}".strip(), {tag for tags, _ in told for tag in tags}

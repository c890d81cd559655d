"""Ask a language model for its opinion of texts, over any OpenAI-compatible HTTP interface. Nothing is sent unasked."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelwise.data.opinions import ITEM, LABELS
from labelwise.files import AnyPath
from labelwise.labelling.exchange.label_studio_api import NoRedirects
from labelwise.records.labels import Label, as_labels

KEY_VARIABLE = "OPENAI_API_KEY"
PROMPT = (
    "You label short documents. Choose every label that applies, and no other. Answer with a JSON object "
    '{{"labels": [...]}} that lists names from this list exactly as written, or an empty list.\n\nLabels:\n{labels}'
)
BUSY = (408, 409, 429, 500, 502, 503, 504)  # worth another try
MOST_TRIES = 6
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between tries
LETTERS_OF_A_TOKEN = 4  # about, in English


@dataclass(frozen=True)
class LanguageModel:
    """Where to ask, how often, and how much at most.

    Parameters
    ----------
    address : str
        Of the interface, such as https://api.openai.com/v1 or http://localhost:8000/v1.
    model : str
        Its name there.
    key_variable : str
        The environment variable that holds the key; none is sent where it is empty.
    per_minute : float
        Requests a minute at most.
    most_tokens : int, optional
        Stop before more tokens than this were used; None is no limit.
    timeout : float
        Seconds to wait for an answer.

    Examples
    --------
    >>> server = LanguageModel("http://localhost:8000/v1", "a model", per_minute=30)
    >>> server.key_variable
    'OPENAI_API_KEY'
    """

    address: str
    model: str
    key_variable: str = KEY_VARIABLE
    per_minute: float = 60.0
    most_tokens: int | None = None
    timeout: float = 60.0

    def __post_init__(self) -> None:
        if not self.address.startswith(("http://", "https://")):
            raise ValueError(f"the address must begin with http:// or https://, got {self.address!r}")
        if not self.per_minute > 0:
            raise ValueError(f"per_minute must be positive, got {self.per_minute!r}")
        if self.most_tokens is not None and self.most_tokens < 1:
            raise ValueError(f"most_tokens must be at least 1, got {self.most_tokens!r}; None is no limit")


@dataclass(frozen=True)
class Asked:
    """What came of asking: items answered now and before, items without a usable answer, tokens used, and whether all
    items were asked."""

    answered: int
    before: int
    failed: tuple[str, ...]
    tokens: int
    finished: bool


def estimated_tokens(texts: Mapping[str, str], labels: Iterable[Any]) -> int:
    """About how many tokens asking about all of these takes, to estimate the cost beforehand.

    >>> estimated_tokens({"a": "late parcel " * 20}, ["delivery"])
    141
    """
    prompt = len(_prompt(as_labels(labels)))
    return sum((prompt + len(text)) // LETTERS_OF_A_TOKEN + 30 for text in texts.values())


def ask_language_model(
    texts: Mapping[str, str],
    labels: Iterable[Any],
    out: AnyPath,
    server: LanguageModel,
    *,
    wait: Callable[[float], None] = time.sleep,
) -> Asked:
    """Ask for the labels of texts, one request each, and add a line per item to a jsonl file of opinions.

    Items that the file has are not asked again, so that it can be stopped and started again at any time. The texts, the
    names and the descriptions of the labels are sent to the server, and nothing else.

    Parameters
    ----------
    texts : item ids to texts
    labels : names, mappings or `Label` records; descriptions are sent along
    out : a .jsonl file, read by `labelwise import --opinions` and `labelwise.data.read_opinions`
    server : LanguageModel
    wait : called with the seconds to wait

    Examples
    --------
    >>> import tempfile
    >>> server = LanguageModel("http://localhost:8000/v1", "a model")
    >>> with tempfile.TemporaryDirectory() as folder:  # what the file has is not asked again, so nothing is sent here
    ...     opinions = Path(folder, "opinions.jsonl")
    ...     _ = opinions.write_text('{"item": "7", "labels": ["billing"]}\\n')
    ...     ask_language_model({"7": "Charged twice"}, ["billing"], opinions, server)
    Asked(answered=0, before=1, failed=(), tokens=0, finished=True)
    """
    described = as_labels(labels)
    known, done = {label.name for label in described}, _done(out)
    prompt, tokens, answered = _prompt(described), 0, 0
    failed: list[str] = []
    todo = [item for item in texts if item not in done]
    with open(out, "a", encoding="utf-8") as file:
        for place, item in enumerate(todo):
            if server.most_tokens is not None and tokens >= server.most_tokens:
                return Asked(answered, len(done), tuple(failed), tokens, False)
            if place:
                wait(60 / server.per_minute)
            reply = _request(server, prompt, texts[item], wait)
            tokens += _used(reply)
            found = _labels_in(reply, known)
            if found is None:
                failed.append(item)
                continue
            file.write(json.dumps({ITEM: item, LABELS: found}, ensure_ascii=False) + "\n")
            file.flush()
            answered += 1
    return Asked(answered, len(done), tuple(failed), tokens, True)


def _prompt(labels: Sequence[Label]) -> str:
    lines = (f"- {each.name}: {each.description}" if each.description else f"- {each.name}" for each in labels)
    return PROMPT.format(labels="\n".join(lines))


def _done(out: AnyPath) -> set[str]:
    """Items that have a whole line in the file; a last line that was torn is cut off."""
    path = Path(os.fspath(out))
    if not path.exists():
        return set()
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        path.write_bytes(whole)
    return {str(json.loads(line)[ITEM]) for line in whole.decode().splitlines() if line.strip()}


def _request(server: LanguageModel, prompt: str, text: str, wait: Callable[[float], None]) -> Any:
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": text}]
    body = {"model": server.model, "messages": messages, "temperature": 0, "response_format": {"type": "json_object"}}
    headers = {"content-type": "application/json"}
    key = os.environ.get(server.key_variable, "")
    if key:
        headers["authorization"] = f"Bearer {key}"
    address = f"{server.address.rstrip('/')}/chat/completions"
    opener, pause = urllib.request.build_opener(NoRedirects), FIRST_PAUSE
    for left in range(MOST_TRIES - 1, -1, -1):
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        try:
            with opener.open(request, timeout=server.timeout) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            told = error.read(500).decode(errors="replace")
            if error.code not in BUSY or not left:
                raise RuntimeError(f"{address} answered {error.code}: {told}") from None
            wait(_pause(error.headers.get("retry-after"), pause))
        except (urllib.error.URLError, TimeoutError, ConnectionError, json.JSONDecodeError) as error:
            if not left:
                raise RuntimeError(f"{address} cannot be asked: {error}") from None
            wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    raise AssertionError("the last try returns or raises")


def _pause(asked_for: str | None, pause: float) -> float:
    try:
        return min(max(float(asked_for or ""), 0.0), LONGEST_PAUSE)
    except ValueError:
        return pause


def _used(reply: Any) -> int:
    usage = reply.get("usage") if isinstance(reply, Mapping) else None
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return total if isinstance(total, int) else 0


def _labels_in(reply: Any, known: set[str]) -> list[str] | None:
    """Those of its labels that there are; None where the reply cannot be read."""
    try:
        said = json.loads(reply["choices"][0]["message"]["content"])["labels"]
        return [name for name in dict.fromkeys(map(str, said)) if name in known]
    except (KeyError, IndexError, TypeError, ValueError):
        return None

"""What a format has no place for is refused, not dropped."""

from __future__ import annotations

from collections.abc import Sequence

from labelwise.data._files import AnyPath
from labelwise.data.errors import FormatError
from labelwise.records import LabelData


def refuse_losses(data: LabelData, path: AnyPath, format: str, keeps: Sequence[str], lossy: bool) -> None:
    """Raise where `data` holds what the format would lose, unless `lossy` allows it; `keeps` lists what it can say."""
    held = {
        "item_ids": data.item_ids != tuple(map(str, range(data.n_items))),
        "items": data.items is not None,
        "feature_names": data.feature_names is not None,
        "label_names": data.label_names != tuple(f"label_{label}" for label in range(data.n_labels)),
    }
    lost = [what for what, is_held in held.items() if is_held and what not in keeps]
    if lost and not lossy:
        raise FormatError(
            f"{format} has no place for {' and '.join(lost)}; pass lossy=True to write without, or use jsonl", path
        )

from collections.abc import Callable
from typing import Any

from labelwise.encoders.base import CachedVectors as CachedVectors
from labelwise.encoders.base import NamedEncoder as NamedEncoder
from labelwise.encoders.base import as_encoder as as_encoder
from labelwise.encoders.base import encode_cached as encode_cached
from labelwise.encoders.base import find_encoder as find_encoder
from labelwise.encoders.minilm import MiniLM as MiniLM

BY_NAME: dict[str, Callable[[], Any]]

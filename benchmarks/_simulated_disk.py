"""A disk in memory for SQLite: it forgets what was not synced when the power fails, and fails when told to.

SQLite is given the disk as its default file system (a VFS, by ctypes), so that the project store runs on it unchanged.
Every file has what is on the platter and the writes since its last sync. `power_loss` drops those writes, or keeps any
subset of them, torn at sectors, which is what a real disk may do.
"""

from __future__ import annotations

import ctypes as c
import ctypes.util
import os
import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

OK, BUSY, IOERR, NOTFOUND, FULL, CANTOPEN = 0, 5, 10, 12, 13, 14  # SQLite's codes
SHORT_READ, WRITE_FAILED, SYNC_FAILED = 522, 778, 1034
DELETE_ON_CLOSE = 0x8
SHM_LOCK, SHM_SHARED = 2, 4
NO_LOCK, SHARED, RESERVED, EXCLUSIVE = 0, 1, 2, 4
POWERSAFE_OVERWRITE = 0x1000
SECTOR = 512

Fault = Callable[[str, int], int]  # "write", "sync" or "truncate" and the number of the call, to a code: OK, FULL, ...


class _File(c.Structure):
    _fields_ = [("methods", c.c_void_p), ("handle", c.c_int64)]


_int, _void, _str, _i64, _file = c.c_int, c.c_void_p, c.c_char_p, c.c_int64, c.POINTER(_File)
_METHODS: dict[str, tuple[Any, ...]] = {  # in the order of sqlite3_io_methods, version 2
    "close": (_file,),
    "read": (_file, _void, _int, _i64),
    "write": (_file, _void, _int, _i64),
    "truncate": (_file, _i64),
    "sync": (_file, _int),
    "size": (_file, c.POINTER(_i64)),
    "lock": (_file, _int),
    "unlock": (_file, _int),
    "reserved": (_file, c.POINTER(_int)),
    "control": (_file, _int, _void),
    "sector": (_file,),
    "traits": (_file,),
    "shm_map": (_file, _int, _int, _int, c.POINTER(_void)),
    "shm_lock": (_file, _int, _int, _int),
    "shm_barrier": (_file,),
    "shm_unmap": (_file, _int),
}
_DISK: dict[str, tuple[Any, ...] | None] = {  # in the order of sqlite3_vfs, version 1; None: loading extensions
    "open": (_void, _str, _file, _int, c.POINTER(_int)),
    "delete": (_void, _str, _int),
    "access": (_void, _str, _int, c.POINTER(_int)),
    "full_path": (_void, _str, _int, _void),
    "dl_open": None,
    "dl_error": None,
    "dl_sym": None,
    "dl_close": None,
    "randomness": (_void, _int, _void),
    "sleep": (_void, _int),
    "now": (_void, c.POINTER(c.c_double)),
    "last_error": (_void, _int, _void),
}


class _Methods(c.Structure):
    _fields_ = [("version", _int), *((name, c.CFUNCTYPE(_int, *types)) for name, types in _METHODS.items())]


class _Vfs(c.Structure):
    _fields_ = [
        ("version", _int),
        ("file_size", _int),
        ("longest_path", _int),
        ("next", _void),
        ("name", _str),
        ("data", _void),
        *((name, _void if types is None else c.CFUNCTYPE(_int, *types)) for name, types in _DISK.items()),
    ]


@dataclass
class _Node:
    """A file: what is seen now, what is on the platter (None: not even its name), and the writes in between."""

    now: bytearray = field(default_factory=bytearray)
    platter: bytes | None = None
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # (place, data), or (size, None): cut to size
    locks: dict[int, int] = field(default_factory=dict)  # by handle
    shm: list[Any] = field(default_factory=list)
    shm_locks: list[dict[int, bool]] = field(default_factory=lambda: [{} for _ in range(8)])  # handle to "exclusive"


class SimulatedDisk:
    """Call `install` once; then every SQLite file of this process is here.

    Parameters
    ----------
    rng : what survives a power loss
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.nodes: dict[str, _Node] = {}
        self.calls = 0  # writes, syncs and truncations so far
        self.fault: Fault = lambda what, call: OK
        self.is_off = False
        self._files: dict[int, tuple[str, bool]] = {}  # by handle: path, and whether it goes when it is closed
        self._unlinked: list[str] = []
        self._handles = 0
        self._kept: list[Any] = []  # what C points to

    # -- what a test does ---------------------------------------------------------------------------------------------

    def image(self) -> dict[str, bytes]:
        """Every file as it is on the platter."""
        return {path: node.platter for path, node in self.nodes.items() if node.platter is not None}

    def load(self, image: dict[str, bytes]) -> None:
        """A disk with these files, and nobody who has them open."""
        self.nodes = {path: _Node(bytearray(data), data) for path, data in image.items()}
        self._files.clear()
        self._unlinked.clear()
        self.is_off, self.fault, self.calls = False, lambda what, call: OK, 0

    def power_loss(self, *, keep_some: bool) -> None:
        """Only what was synced is left, and with `keep_some` any part of the rest; nobody has a file open."""
        found = {path: self._left_of(node, keep_some) for path, node in self.nodes.items()}
        self.load({path: data for path, data in found.items() if data is not None})

    def _left_of(self, node: _Node, keep_some: bool) -> bytes | None:
        if not keep_some or (node.platter is None and self.rng.random() < 0.5):
            return node.platter
        data = bytearray(node.platter or b"")
        for place, written in node.pending:
            fate = self.rng.random()
            if fate < 0.4:
                continue
            if written is None:
                del data[place:]
            else:
                _put(data, place, written if fate < 0.8 else self._torn(place, written))
        return bytes(data)

    def _torn(self, place: int, written: bytes) -> bytes:
        """The first sectors of a write."""
        end = SECTOR * self.rng.randint(place // SECTOR, (place + len(written)) // SECTOR)
        return written[: max(end - place, 0)]

    def install(self) -> None:
        """Make this the file system of SQLite in this process."""
        methods, vfs = _Methods(2), _Vfs(1, c.sizeof(_File), 1024, None, b"simulated", None)
        for target, calls in ((methods, _METHODS), (vfs, _DISK)):
            for name, types in calls.items():
                if types is not None:
                    callback = c.CFUNCTYPE(_int, *types)(_guarded(getattr(self, f"_{name}")))
                    setattr(target, name, callback)
                    self._kept.append(callback)
        self._kept += [methods, vfs]
        self._methods = c.addressof(methods)
        if _library().sqlite3_vfs_register(c.byref(vfs), 1) != OK:
            raise RuntimeError("SQLite did not take the simulated disk")

    def _trouble(self, what: str) -> int:
        if self.is_off:
            return IOERR
        self.calls += 1
        return self.fault(what, self.calls)

    def _of(self, file: Any) -> _Node:
        return self.nodes.setdefault(self._files[file.contents.handle][0], _Node())

    # -- the disk -----------------------------------------------------------------------------------------------------

    def _open(self, _: Any, name: bytes | None, file: Any, flags: int, out: Any) -> int:
        if self.is_off:
            return CANTOPEN
        self._handles += 1
        path = f"temporary {self._handles}" if name is None else os.fsdecode(name)
        self.nodes.setdefault(path, _Node())
        self._files[self._handles] = (path, bool(flags & DELETE_ON_CLOSE))
        file.contents.methods, file.contents.handle = self._methods, self._handles
        if out:
            out[0] = flags
        return OK

    def _delete(self, _: Any, name: bytes, sync_folder: int) -> int:
        path = os.fsdecode(name)
        if self.is_off or path not in self.nodes:
            return IOERR if self.is_off else OK
        if sync_folder or self.nodes[path].platter is None:
            del self.nodes[path]
        else:  # empty from now on, and back as it was if the power fails before anything else is synced
            node = self.nodes[path]
            node.now, node.pending, node.shm = bytearray(), [*node.pending, (0, None)], []
            self._unlinked.append(path)
        return OK

    def _access(self, _: Any, name: bytes, flags: int, out: Any) -> int:
        node = self.nodes.get(os.fsdecode(name))
        out[0] = int(node is not None and (flags != 0 or len(node.now) > 0))
        return OK

    def _full_path(self, _: Any, name: bytes, most: int, out: Any) -> int:
        c.memmove(out, name + b"\0", len(name) + 1)
        return OK

    def _randomness(self, _: Any, number: int, out: Any) -> int:
        c.memmove(out, self.rng.randbytes(number), number)
        return number

    def _sleep(self, _: Any, microseconds: int) -> int:
        time.sleep(microseconds / 1e6)
        return microseconds

    def _now(self, _: Any, out: Any) -> int:
        out[0] = time.time() / 86400 + 2440587.5
        return OK

    def _last_error(self, *_: Any) -> int:
        return OK

    # -- files --------------------------------------------------------------------------------------------------------

    def _close(self, file: Any) -> int:
        path, is_temporary = self._files.pop(file.contents.handle, ("", False))
        node = self.nodes.get(path)
        if node is not None:
            node.locks.pop(file.contents.handle, None)
            for slot in node.shm_locks:
                slot.pop(file.contents.handle, None)
            if is_temporary:
                del self.nodes[path]
        return OK

    def _read(self, file: Any, out: Any, number: int, place: int) -> int:
        if self.is_off:
            return IOERR
        data = bytes(self._of(file).now[place : place + number])
        c.memmove(out, data.ljust(number, b"\0"), number)
        return OK if len(data) == number else SHORT_READ

    def _write(self, file: Any, data: Any, number: int, place: int) -> int:
        trouble, node, written = self._trouble("write"), self._of(file), c.string_at(data, number)
        if trouble == FULL:  # as much as there was room for
            written = written[: self.rng.randint(0, number - 1)]
        elif trouble:
            return trouble
        if written:
            _put(node.now, place, written)
            node.pending.append((place, written))
        return trouble

    def _truncate(self, file: Any, size: int) -> int:
        trouble, node = self._trouble("truncate"), self._of(file)
        if not trouble:
            del node.now[size:]
            node.pending.append((size, None))
        return trouble

    def _sync(self, file: Any, _: int) -> int:
        trouble, node = self._trouble("sync"), self._of(file)
        if not trouble:
            node.platter, node.pending = bytes(node.now), []
            for path in self._unlinked:  # names are kept in order, as journalling file systems do
                if path in self.nodes and not self.nodes[path].now:
                    self.nodes[path].platter, self.nodes[path].pending = None, []
            self._unlinked.clear()
        return trouble

    def _size(self, file: Any, out: Any) -> int:
        out[0] = len(self._of(file).now)
        return OK

    def _lock(self, file: Any, level: int) -> int:
        node, handle = self._of(file), file.contents.handle
        others = max((held for other, held in node.locks.items() if other != handle), default=NO_LOCK)
        if (level == SHARED and others == EXCLUSIVE) or (level == RESERVED and others >= RESERVED):
            return BUSY
        if level == EXCLUSIVE and others > NO_LOCK:
            return BUSY
        node.locks[handle] = max(level, node.locks.get(handle, NO_LOCK))
        return OK

    def _unlock(self, file: Any, level: int) -> int:
        self._of(file).locks[file.contents.handle] = level
        return OK

    def _reserved(self, file: Any, out: Any) -> int:
        out[0] = int(any(held >= RESERVED for held in self._of(file).locks.values()))
        return OK

    def _control(self, *_: Any) -> int:
        return NOTFOUND

    def _sector(self, _: Any) -> int:
        return SECTOR

    def _traits(self, _: Any) -> int:
        return POWERSAFE_OVERWRITE

    # -- memory that connections share --------------------------------------------------------------------------------

    def _shm_map(self, file: Any, page: int, size: int, extend: int, out: Any) -> int:
        shm = self._of(file).shm
        while extend and len(shm) <= page:
            shm.append(c.create_string_buffer(size))
        out[0] = c.addressof(shm[page]) if page < len(shm) else None
        return OK

    def _shm_lock(self, file: Any, first: int, number: int, flags: int) -> int:
        slots, handle = self._of(file).shm_locks[first : first + number], file.contents.handle
        if not flags & SHM_LOCK:
            for slot in slots:
                slot.pop(handle, None)
            return OK
        exclusive = not flags & SHM_SHARED
        if any(held or exclusive for slot in slots for other, held in slot.items() if other != handle):
            return BUSY
        for slot in slots:
            slot[handle] = exclusive
        return OK

    def _shm_barrier(self, _: Any) -> int:
        return OK

    def _shm_unmap(self, file: Any, delete: int) -> int:
        if delete:
            self._of(file).shm = []
        return OK


def _put(data: bytearray, place: int, written: bytes) -> None:
    if len(data) < place:
        data.extend(bytes(place - len(data)))
    data[place : place + len(written)] = written


def _guarded(function: Callable[..., int]) -> Callable[..., int]:
    """No exception may pass through C."""

    def call(*arguments: Any) -> int:
        try:
            return function(*arguments)
        except Exception:
            traceback.print_exc()
            return IOERR

    return call


def _library() -> Any:
    """The SQLite that Python's own module uses."""
    import _sqlite3

    for name in (_sqlite3.__file__, c.util.find_library("sqlite3")):
        library = c.CDLL(name) if name else None
        if library is not None and hasattr(library, "sqlite3_vfs_register"):
            return library
    raise RuntimeError("Python's SQLite cannot be reached: it is not a shared library here")

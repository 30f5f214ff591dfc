"""Real servers for tests: PostgreSQL, Redis, one that speaks S3. Tests skip with the reason where one cannot be started."""

import contextlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Postgres:
    """A PostgreSQL server of this test session; ``address`` is that of libpq."""

    binaries: Path
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    host: str = "127.0.0.1"

    @property
    def address(self) -> str:
        return f"postgresql://postgres@{self.host}:{self.port}/postgres"

    def _as_owner(self, *command: str) -> list[str]:
        return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else list(command)

    def create(self) -> None:
        if os.geteuid() == 0:  # which initdb refuses
            shutil.chown(self.folder, "postgres")
        made = self._as_owner(
            str(self.binaries / "initdb"), "-D", str(self.folder / "data"), "-A", "trust", "-U", "postgres"
        )
        subprocess.run([*made, "--no-sync"], check=True, capture_output=True, cwd="/")
        with (self.folder / "data" / "pg_hba.conf").open("a") as rules:  # whoever reaches it may use it
            rules.write("host all all all trust\n")

    def start(self) -> None:
        data, pid = self.folder / "data", self.folder / "data" / "postmaster.pid"
        said = f"-c fsync=off -c listen_addresses={self.host} -c unix_socket_directories={self.folder} -p {self.port}"
        command = self._as_owner(str(self.binaries / "postgres"), "-D", str(data), *said.split())
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", start_new_session=True)
        for _ in range(200):
            if pid.exists() and pid.read_text().rstrip().endswith("ready"):
                return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def stop(self) -> None:
        """End the server at once: sessions are cut, as in a restart."""
        if self.process is not None:
            pid = self.folder / "data" / "postmaster.pid"
            os.kill(int(pid.read_text().split()[0]), signal.SIGINT)
            self.process.wait(20)
            self.process = None


@pytest.fixture(scope="session")
def postgres_server():
    """A running PostgreSQL; a test that stops it starts it again."""
    binaries = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if not binaries and not (found := shutil.which("initdb")):
        pytest.skip("PostgreSQL is not installed (initdb, postgres)")
    folder = Path(tempfile.mkdtemp(prefix="metacog-postgres-"))
    server = Postgres(max(binaries) if binaries else Path(str(found)).parent, folder, free_port())
    try:
        try:
            server.create()
            server.start()
        except (OSError, RuntimeError, LookupError, subprocess.CalledProcessError) as error:
            pytest.skip(f"PostgreSQL cannot be started: {error}")
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(postgres_server):
    """The libpq address of a fresh database of its own."""
    psycopg = pytest.importorskip("psycopg", reason="the extra cluster is not installed")
    name = f"t{uuid4().hex}"
    with psycopg.connect(postgres_server.address, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    return postgres_server.address.removesuffix("postgres") + name


@pytest.fixture(scope="session")
def s3_server():
    """The endpoint of a running server that speaks S3 (moto's)."""
    pytest.importorskip("obstore", reason="the extra cluster is not installed")
    server = pytest.importorskip("moto.server", reason="moto is not installed")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def s3(s3_server, monkeypatch):
    """The address of a store in a bucket of its own; endpoint and credentials stand in the environment."""
    bucket = f"b{uuid4().hex}"
    asked = urllib.request.Request(f"{s3_server}/{bucket}", method="PUT")
    with urllib.request.urlopen(asked) as answered:
        assert answered.status == 200
    for name, value in {"ENDPOINT_URL": s3_server, "ACCESS_KEY_ID": "k", "SECRET_ACCESS_KEY": "s"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return f"s3://{bucket}/study"


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory):
    """The address of a running Redis that keeps nothing."""
    pytest.importorskip("redis", reason="the extra celery is not installed")
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("Redis is not installed (redis-server)")
    port = free_port()
    said = f"--port {port} --bind 127.0.0.1 --save --appendonly no --dir {tmp_path_factory.mktemp('redis')}"
    process = subprocess.Popen([binary, *said.split()], stdout=subprocess.DEVNULL, start_new_session=True)
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            break
        time.sleep(0.05)
    else:
        process.kill()
        pytest.skip("Redis cannot be started")
    yield f"redis://127.0.0.1:{port}/0"
    process.terminate()
    process.wait(20)

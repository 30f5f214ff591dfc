"""Hosts on this machine: each a network namespace with a disk and a clock of its own, beside services with addresses."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest

HERE = Path(__file__).parent
DISK = "96m"
NOBODY = "02:00:00:00:00:01"  # a hardware address that swallows


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def unusable() -> str | None:
    """Return why hosts cannot be made here."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "hosts are network namespaces, which only root makes, with the command ip (Debian: iproute2)"
    try:
        ip("netns", "add", f"probe{os.getpid()}")
        ip("netns", "del", f"probe{os.getpid()}")
    except subprocess.CalledProcessError as error:
        return f"network namespaces cannot be made here: {error.stderr.strip()}"
    return None


class Network:
    """Services have addresses on this machine's loopback, which hosts reach; one that is withdrawn is silent."""

    def __init__(self) -> None:
        self.prefix = "10.213"
        self._services: set[str] = set()

    def service(self, number: int) -> str:
        """Return the address of a service; it can be reached from now on."""
        address = f"{self.prefix}.0.{number}"
        self.announce(address)
        return address

    def announce(self, address: str) -> None:
        ip("addr", "replace", f"{address}/32", "dev", "lo")
        self._services.add(address)

    def withdraw(self, address: str) -> None:
        ip("addr", "del", f"{address}/32", "dev", "lo")
        self._services.discard(address)

    def close(self) -> None:
        for address in tuple(self._services):
            self.withdraw(address)


@dataclass
class Host:
    """A namespace ``name`` whose only way out leads here, a disk ``folder`` of `DISK`, and a clock that can be moved."""

    network: Network
    number: int
    folder: Path
    environment: Mapping[str, str]
    services: list[Service] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.name = f"mc{self.network.prefix[3:]}h{self.number}"
        inside, outside = (f"{self.network.prefix}.{self.number}.{last}" for last in (2, 1))
        ip("netns", "add", self.name)
        ip("link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("addr", "add", f"{outside}/24", "dev", self.name)
        ip("link", "set", self.name, "up")
        own = ("-n", self.name)
        ip(*own, "addr", "add", f"{inside}/24", "dev", "eth0")
        ip(*own, "link", "add", "hole", "type", "veth", "peer", "name", "bottom")
        for device in ("lo", "eth0", "hole", "bottom"):
            ip(*own, "link", "set", device, "up")
        ip(*own, "route", "add", "default", "via", outside)
        self.folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(self.folder)], check=True)
        self.clock = self.folder.parent / f"{self.name}.clock"
        self.set_clock(0)
        return self

    def __exit__(self, *_: object) -> None:
        for service in self.services:
            service.close()
        for process in self.processes():
            _kill(process, signal.SIGKILL)
        subprocess.run(["umount", "-l", str(self.folder)], check=False)
        subprocess.run(["ip", "netns", "del", self.name], check=False)

    def command(self, *arguments: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, sys.executable, *arguments]

    def processes(self, mark: str = "") -> list[int]:
        """Return the processes in the namespace whose environment holds ``mark``."""
        found = []
        for process in map(int, ip("netns", "pids", self.name).split()):
            with contextlib.suppress(OSError):
                if mark.encode() in Path(f"/proc/{process}/environ").read_bytes():
                    found.append(process)
        return found

    def serve(self, name: str, *arguments: str) -> Service:
        """Start what is started again whenever it ends."""
        self.services.append(Service(self, name, arguments))
        return self.services[-1]

    def swallow(self, address: str) -> None:
        """Let all that is sent to ``address`` be lost, without a word."""
        ip("-n", self.name, "neigh", "replace", address, "lladdr", NOBODY, "dev", "hole")
        ip("-n", self.name, "route", "replace", f"{address}/32", "dev", "hole")

    def reach(self, address: str) -> None:
        ip("-n", self.name, "route", "del", f"{address}/32", "dev", "hole")

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Leave no byte free on the disk."""
        filler = self.folder / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(2**12))
        try:
            yield
        finally:
            filler.unlink()

    def set_clock(self, seconds: float) -> None:
        """Let the time of day be so many seconds ahead."""
        ahead = int(seconds * 1e9).to_bytes(8, sys.byteorder, signed=True)
        with self.clock.open("r+b" if self.clock.exists() else "wb", buffering=0) as file:
            file.write(ahead)


class Service:
    """A command on a host, started again a second after it has ended."""

    def __init__(self, host: Host, name: str, arguments: Sequence[str]) -> None:
        self._host, self._mark = host, f"SERVICE={name}"
        self._log = host.folder.parent / f"{host.name}-{name}.log"
        self._environment = {**host.environment, "SERVICE": name, "CLOCK_FILE": str(host.clock)}
        self._command, self._ended = host.command(*arguments), threading.Event()
        self.starts = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._ended.is_set():
            self.starts += 1
            with self._log.open("ab") as log:
                running = subprocess.Popen(
                    self._command,
                    env=self._environment,
                    cwd=self._host.folder,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            running.wait()
            self._ended.wait(1)

    def signal(self, number: signal.Signals, processes: Sequence[int] | None = None) -> None:
        """Send a signal to all processes of the service."""
        for process in self._host.processes(self._mark) if processes is None else processes:
            _kill(process, number)

    def children(self) -> list[int]:
        """Return the processes that a process of the same command forked."""
        said = {process: _said(process) for process in self._host.processes(self._mark)}
        return [one for one, (parent, line) in said.items() if line and said.get(parent, (0, ""))[1] == line]

    def close(self) -> None:
        self._ended.set()
        self.signal(signal.SIGKILL)
        self._thread.join(10)


def _said(process: int) -> tuple[int, str]:
    """Return the parent of a process and its command line."""
    try:
        line = Path(f"/proc/{process}/cmdline").read_text()
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]), line
    except (OSError, ValueError):
        return 0, ""


def _kill(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


class Outside:
    """A server beside the hosts that can be killed and started again: a command, and the address that shows it is there."""

    def __init__(self, address: str, port: int, *command: str) -> None:
        self._where, self._command = (address, port), command
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        for _ in range(400):
            with contextlib.suppress(OSError), socket.create_connection(self._where, timeout=1):
                return
            time.sleep(0.05)
        self.kill()
        pytest.skip(f"{self._command[0]} cannot be started")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(20)

"""Three hosts, five benchmarks, and faults every second or two: nothing lost, nothing paid twice but what was under way.

One host queues (daemon and web server), two work (Celery workers); each is a network namespace with a disk and a clock of
its own. PostgreSQL, Redis, a store that speaks S3 and a provider that fails now and then stand beside them. The board has
to be that of one machine that nothing disturbed.

A part is one study with its own faults. ``METACOG_FAULTS_PARTS=2,3`` runs these parts only, ``METACOG_FAULTS=10`` disturbs
each so often; every part adds what it saw to the file ``METACOG_FAULTS_LOG``, a line of JSON. What the undisturbed machine
answered is kept for the next sitting in the folder ``METACOG_FAULTS_FOLDER``.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow.parquet as pq
import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.serving import respondents
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import read_figures
from metacog_pipeline.llm.server import FaultPlan
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.folder import kept_folders
from metacog_pipeline.transcripts.shared import refresh
from metacog_pipeline.transcripts.store import kept_records
from tests.proofs.hosts import HERE, Host, Network, Outside, Service, unusable
from tests.servers import Postgres, free_port
from tests.simulated_server import ServerThread

pytestmark = pytest.mark.proof
PARTS = [int(part) for part in os.environ.get("METACOG_FAULTS_PARTS", "1,2,3,4").split(",")]
FAULTS = int(os.environ.get("METACOG_FAULTS", "30"))
LEASE_S, LATENCY_S, AWAY_S = 5, 0.8, 30
TIME_S = max(900, 20 * FAULTS)  # a part takes no longer; undisturbed its study takes about a minute
REQUESTS = 8  # so often the study is asked for again at most
PAID = ("ok", "slow")
BUDGET_USD, PRICE = 2.0, 0.5
PLAN = FaultPlan(seed=4, latency_s=LATENCY_S, rates={"rate_limit": 0.02, "server_error": 0.02, "cut": 0.01})

STUDY = """
[study]
name = "faults"
home = "home"
runs = 2
budget_usd = {budget}
{rows}
[benchmarks.metamedqa]
dataset = "sample"
limit = 8
[benchmarks.medley]
dataset = "sample"
limit = 1
judges = ["judge"]
[benchmarks.metacogbench]
limit = 8
[benchmarks.selfknowledge]
dataset = "sample"
limit = 6
[benchmarks.signaldetection]
dataset = "sample"
trials = 10
conditions = ["confidence"]
{deploy}
"""
ROW = """
[[{table}]]
name = "{name}"
family = "{name}"
provider = "{provider}"
price_in = {price}
price_out = {price}
"""
SERVED = """
model = "{name}"
base_url = "{url}/v1"
answer_mode = "text"
max_concurrency = 3
"""
DEPLOY = """
[deploy]
dagster_storage = "METACOG_TEST_PG"
executor = "celery"
broker = "METACOG_TEST_REDIS"
ledger = "postgres"
store = "{store}"
workers = 2
"""
MONITORING = "run_monitoring: {enabled: true, start_timeout_seconds: 30, poll_interval_seconds: 2}\n"
WEB = ("-m", "metacog_assets.webserver", "-h", "0.0.0.0", "-p", "3000", "-m", "metacog_assets.definitions")
EVERY = {  # kinds of faults, and how many of thirty
    "worker host killed": 3,
    "worker process killed": 4,
    "daemon killed": 2,
    "web server killed": 1,
    "Redis killed": 3,
    "PostgreSQL restarted": 3,
    f"store away {AWAY_S} s": 1,
    "store away 2 s": 2,
    "worker cut from PostgreSQL": 4,
    "worker paused past its lease": 3,
    "disk of a worker full": 2,
    "clock of a worker jumps": 2,
}


def study_text(url: str | None, deploy: str = "") -> str:
    """Return the study file: respondents behind ``url``, or simulated where they are served."""
    provider = "simulated" if url is None else "openai"
    more = SERVED if url else ""
    names = [("models", "m0"), ("models", "m1"), ("judges", "judge")]
    rows = "".join(
        (ROW + more).format(table=table, name=name, provider=provider, url=url, price=PRICE)
        for table, name in names
    )
    return STUDY.format(budget=BUDGET_USD, rows=rows, deploy=deploy)


@dataclass
class World:
    """What stands beside the hosts: the network, the provider, and the study as one undisturbed machine answers it."""

    folder: Path
    network: Network
    provider: ServerThread
    reference: Path

    def calls(self) -> Counter[str]:
        """Return how often each body was answered, and so paid for, in all."""
        rows = (json.loads(line) for line in (self.folder / "calls").read_text().splitlines())
        return Counter(row["digest"] for row in rows if row["outcome"] in PAID)


@pytest.fixture(scope="module")
def world():
    if (why := unusable()) is not None:
        pytest.skip(why)
    if shutil.which("cc") is None:
        pytest.skip(
            "no C compiler: the clock that jumps cannot be built (Debian: apt-get install gcc libc6-dev)"
        )
    kept = os.environ.get("METACOG_FAULTS_FOLDER")
    folder = Path(kept or tempfile.mkdtemp(prefix="metacog-hosts-"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)  # PostgreSQL's owner enters it
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", folder / "clock.so", HERE / "jumping_clock.c", "-ldl"]
    subprocess.run(command, check=True)
    served = folder / "served.toml"
    served.write_text(study_text(None))
    study = load_study(served)
    study.prepare()
    for benchmark in enabled(study):
        construction.build(benchmark)
    people, network = respondents(study), Network()
    try:
        with ServerThread(
            lambda model, request: people[model](request),
            log=folder / "calls",
            host=network.service(13),
            port=8765,
        ) as provider:
            reference = folder / "reference.toml"
            reference.write_text(study_text(provider.url))
            subprocess.run(metacog("run", str(reference), "--quiet"), check=True, timeout=TIME_S)
            provider.provider.use(PLAN)
            yield World(folder, network, provider, reference)
    finally:
        network.close()
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


def metacog(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "metacog_pipeline", *arguments]


class Cluster:
    """Three hosts and what they share, for one part."""

    def __init__(self, world: World, folder: Path, held: contextlib.ExitStack) -> None:
        self.world, self.folder = world, folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o755)
        network = world.network
        self.addresses = {
            name: network.service(number) for number, name in ((10, "pg"), (11, "redis"), (12, "s3"))
        }
        self._serve_outside(held)
        environment = self._environment(f"s3://faults/{folder.name}")
        self.hosts = [
            held.enter_context(Host(network, number, folder / name, own_paths(folder / name, environment)))
            for number, name in ((1, "queues"), (2, "first"), (3, "second"))
        ]
        text = study_text(world.provider.url, DEPLOY.format(store=f"s3://faults/{folder.name}"))
        for host in self.hosts:
            (host.folder / "study.toml").write_text(text)
            (host.folder / "home" / "dagster").mkdir(parents=True)
            (host.folder / "home" / "dagster" / "dagster.yaml").write_text(MONITORING)
        front, *workers = self.hosts
        self.daemon = front.serve("daemon", "-m", "metacog_pipeline", "daemon", "study.toml")
        self.web = front.serve("web", *WEB)
        self.workers = [
            host.serve("worker", "-m", "metacog_pipeline", "worker", "study.toml", "--processes", "1")
            for host in workers
        ]

    def _serve_outside(self, held: contextlib.ExitStack) -> None:
        """Start PostgreSQL, Redis (with its file, as deploy/compose.yaml has it) and the store."""
        binaries = max(path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        (self.folder / "pg").mkdir()
        self.postgres = Postgres(binaries, self.folder / "pg", free_port(), host=self.addresses["pg"])
        self.postgres.create()
        self.postgres.start()
        held.callback(self.postgres.stop)
        for name, port in (("redis", 6379), ("s3", 9000)):
            address = self.addresses[name]
            command = {
                "redis": f"redis-server --port {port} --bind {address} --protected-mode no --save --appendonly yes"
                f" --dir {self.folder}",
                "s3": f"{sys.executable} -m moto.server -H {address} -p {port}",
            }[name]
            server = Outside(address, port, *command.split())
            held.callback(server.kill)
            setattr(self, name, server)
        asked = urllib.request.Request(f"http://{self.addresses['s3']}:9000/faults", method="PUT")
        urllib.request.urlopen(asked).close()

    def _environment(self, store: str) -> dict[str, str]:
        """Return the environment of every process of the hosts; this process gets what concerns the servers."""
        self.pg_url = self.postgres.address
        servers = {
            "METACOG_TEST_PG": self.pg_url.replace("postgresql://", "postgresql+psycopg2://"),
            "METACOG_TEST_REDIS": f"redis://{self.addresses['redis']}:6379/0",
            "AWS_ENDPOINT_URL": f"http://{self.addresses['s3']}:9000",
            "AWS_ACCESS_KEY_ID": "k",
            "AWS_SECRET_ACCESS_KEY": "s",
        }
        os.environ.update(servers)
        (self.folder / "events").mkdir()
        return {
            **os.environ,
            "METACOG_LEASE_S": str(LEASE_S),
            "METACOG_UI_NAMES": "0.0.0.0",
            "OPENAI_API_KEY": "none",
            "LD_PRELOAD": str(self.world.folder / "clock.so"),
            "EVENTS": str(self.folder / "events" / "e"),
            "PYTHONPATH": f"{HERE / 'watching'}:{HERE.parents[1]}:{HERE.parents[1] / 'assets'}",
            "POLARS_MAX_THREADS": "1",
        }

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the study on the host that queues."""
        host = self.hosts[0]
        command = host.command("-m", "metacog_pipeline", *arguments)
        given = {**host.environment, "CLOCK_FILE": str(host.clock)}
        return subprocess.run(
            command, env=given, cwd=host.folder, capture_output=True, text=True, timeout=TIME_S
        )

    def done(self) -> bool:
        """Whether nothing is queued any more; not while PostgreSQL is away."""
        import psycopg

        try:
            with psycopg.connect(self.pg_url, connect_timeout=3) as connection:
                found = connection.execute("select value from kvs where key = 'metacog/request'").fetchone()
                return found is not None and json.loads(found[0])["done"]
        except psycopg.Error:
            return False


def own_paths(folder: Path, environment: dict[str, str]) -> dict[str, str]:
    return {
        **environment,
        "METACOG_STUDY": str(folder / "study.toml"),
        "DAGSTER_HOME": str(folder / "home" / "dagster"),
    }


class Faults:
    """Disturbs a cluster in threads, each target by one fault at a time."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._draw = cluster, random.Random(seed)
        self._locks: dict[object, threading.Lock] = {}
        self._threads: list[threading.Thread] = []
        self.count: Counter[str] = Counter()
        self.failed: list[str] = []
        schedule = [kind for kind, often in EVERY.items() for _ in range(often)]
        self._draw.shuffle(schedule)
        self._left = (schedule * (FAULTS // len(schedule) + 1))[:FAULTS]

    def next(self) -> None:
        """Begin the next fault, if there is one left."""
        if self._left:
            kind = self._left.pop()
            thread = threading.Thread(target=self._strike, args=(kind, self._draw.randrange(2)))
            self._threads.append(thread)
            thread.start()

    def now_and_then(self) -> bool:
        """Whether to strike also where nobody is asking right now."""
        return self._draw.random() < 0.2

    def pause(self) -> None:
        time.sleep(self._draw.uniform(1, 2))

    def end(self) -> None:
        """Wait until all is as it should be again."""
        self._left.clear()
        for thread in self._threads:
            thread.join()

    def _strike(self, kind: str, which: int) -> None:
        at = self._cluster
        host, worker = at.hosts[1 + which], at.workers[which]
        target = which if "worker" in kind else kind.split()[0]
        with self._locks.setdefault(target, threading.Lock()):
            try:
                self._KINDS[kind](self, host, worker)
                self.count[kind] += 1
            except Exception as error:  # of a thread: the test tells
                self.failed.append(f"{kind}: {error!r}")

    def _process_killed(self, host: Host, worker: Service) -> None:
        until = time.monotonic() + 20
        while not (children := worker.children()) and time.monotonic() < until:
            time.sleep(0.1)
        worker.signal(signal.SIGKILL, children)

    def _redis_killed(self, host: Host, worker: Service) -> None:
        self._cluster.redis.kill()
        time.sleep(1)
        self._cluster.redis.start()

    def _postgres_restarted(self, host: Host, worker: Service) -> None:
        self._cluster.postgres.stop()
        time.sleep(1)
        self._cluster.postgres.start()

    def _store_away(self, seconds: float) -> None:
        self._cluster.world.network.withdraw(self._cluster.addresses["s3"])
        time.sleep(seconds)
        self._cluster.world.network.announce(self._cluster.addresses["s3"])

    def _cut(self, host: Host, worker: Service) -> None:
        host.swallow(self._cluster.addresses["pg"])
        time.sleep(LEASE_S)
        host.reach(self._cluster.addresses["pg"])

    def _paused(self, host: Host, worker: Service) -> None:
        processes = host.processes("SERVICE=worker")
        worker.signal(signal.SIGSTOP, processes)
        time.sleep(LEASE_S * 1.6)
        worker.signal(signal.SIGCONT, processes)

    def _full(self, host: Host, worker: Service) -> None:
        with host.full():
            time.sleep(3)

    def _clock(self, host: Host, worker: Service) -> None:
        host.set_clock(self._draw.choice((-600, 600)))
        time.sleep(LEASE_S)
        host.set_clock(0)

    _KINDS: ClassVar[dict[str, Callable[[Faults, Host, Service], None]]] = {
        "worker host killed": lambda self, host, worker: worker.signal(signal.SIGKILL),
        "worker process killed": _process_killed,
        "daemon killed": lambda self, host, worker: self._cluster.daemon.signal(signal.SIGKILL),
        "web server killed": lambda self, host, worker: self._cluster.web.signal(signal.SIGKILL),
        "Redis killed": _redis_killed,
        "PostgreSQL restarted": _postgres_restarted,
        f"store away {AWAY_S} s": lambda self, host, worker: self._store_away(AWAY_S),
        "store away 2 s": lambda self, host, worker: self._store_away(2),
        "worker cut from PostgreSQL": _cut,
        "worker paused past its lease": _paused,
        "disk of a worker full": _full,
        "clock of a worker jumps": _clock,
    }


@dataclass
class Seen:
    """What processes of workers wrote down: what each kept, and what it had sent and not kept when it ended."""

    kept: set[str]
    digest_of: dict[str, str]
    in_flight: Counter[str]

    @classmethod
    def of(cls, folder: Path) -> Seen:
        files = [[line.split(" ") for line in path.read_text().splitlines()] for path in folder.iterdir()]
        digest_of = {line[1]: line[2] for lines in files for line in lines if line[0] == "asked"}
        seen = cls(set(), digest_of, Counter())
        for lines in files:
            own: Counter[str] = Counter()
            for word, name, *_ in lines:
                own[name] += (word == "sent") - (word == "back")
                if word == "kept" and name in digest_of:
                    seen.kept.add(name)
                    own[digest_of[name]] -= 1
            seen.in_flight += +own
        return seen


@pytest.mark.parametrize("part", PARTS)
def test_a_study_on_three_hosts_survives(world, part):
    for module in ("dagster_celery", "dagster_postgres", "moto.server", "obstore"):
        pytest.importorskip(module)
    before, began = world.calls(), time.monotonic()
    with contextlib.ExitStack() as held:
        cluster = Cluster(world, world.folder / f"part{part}", held)
        faults, requests, code = Faults(cluster, part), 0, -1
        while code and requests < REQUESTS:
            requests += 1
            assert cluster.call("run", "study.toml", "--detach", "--quiet").returncode == 0
            while not cluster.done():
                assert time.monotonic() - began < TIME_S, faults.count
                if world.provider.stats["in_flight"] or faults.now_and_then():
                    faults.next()
                faults.pause()
            faults.end()
            said = cluster.call("status", "study.toml", "--watch")
            code = said.returncode
            print(f"part {part}, request {requests}: {said.stderr[-1500:]}")
        assert code == 0 and not faults.failed, (said.stderr, faults.failed)
        wall = time.monotonic() - began
        found = judged(world, cluster, world.calls() - before)
        urllib.request.urlopen(f"http://{world.network.prefix}.1.2:3000/server_info", timeout=30).close()
        figures = {
            "part": part,
            "faults": dict(faults.count),
            "requests": requests,
            "wall_s": round(wall),
            **found,
        }
        with Path(os.environ.get("METACOG_FAULTS_LOG", world.folder / "log")).open("a") as log:
            log.write(json.dumps(figures) + "\n")
        print(json.dumps(figures))
        assert found["lost"] == found["over"] == 0 and found["paid_twice"] <= found["in_flight"]


def judged(world: World, cluster: Cluster, calls: Counter[str]) -> dict[str, float]:
    """Hold what the hosts have at the end against what happened; the board and every estimate against the reference."""
    board = cluster.call("board", "--study", "study.toml", "--format", "csv")
    alone = subprocess.run(
        metacog("board", "--study", str(world.reference), "--format", "csv"), capture_output=True, text=True
    )
    assert board.stdout == alone.stdout != ""
    verified = cluster.call("verify", "study.toml")
    assert verified.returncode == 0, verified.stdout
    home = Home(cluster.hosts[0].folder / "home")
    for mine in sorted((world.folder / "home").glob("estimates/**/*.parquet")):
        assert pq.read_table(home / mine.relative_to(world.folder / "home")).equals(pq.read_table(mine)), mine
    refresh(home)
    records = [record for folder in kept_folders(home) for record in kept_records(folder)]
    seen = Seen.of(cluster.folder / "events")
    cost = {record.answer_id: record.cost_usd or 0.0 for record in records if record.attempts}
    asked = Counter(seen.digest_of.get(record.answer_id) for record in records if record.attempts)
    again = calls - asked  # two partitions may ask the same words
    billed = sum(calls[digest] * cost.get(answer, 0.0) for answer, digest in seen.digest_of.items())
    spent = read_figures(home, BUDGET_USD).spent
    return {
        "answers": len(calls),
        "lost": len(seen.kept - {record.answer_id for record in records}) + (again - seen.in_flight).total(),
        "paid_twice": again.total(),
        "in_flight": seen.in_flight.total(),
        "over": max(0.0, billed - spent - 1e-9, spent - BUDGET_USD),
        "billed_usd": round(billed, 6),
        "spent_usd": round(spent, 6),
    }

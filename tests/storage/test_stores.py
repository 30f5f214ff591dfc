"""A store writes whole or not at all, and on a condition; what cannot do so is refused in one line."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from metacog_pipeline.errors import MetacogError, StoreError, StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.storage import folders
from metacog_pipeline.storage.attached import FILE_NAME, attach, attachment, open_store, probe, store_of
from metacog_pipeline.storage.folders import refuse_unlocked
from metacog_pipeline.storage.store import ABSENT, ChangedError, Store, scheme_of
from tests.tables import every


@pytest.fixture(params=["folder", "s3"])
def store(request, tmp_path):
    address = str(tmp_path / "store") if request.param == "folder" else request.getfixturevalue("s3")
    return open_store(address)


def test_what_is_put_is_read_listed_and_deleted(store, tmp_path):
    assert store.read("a/b") is None
    assert store.listed("a") == []
    version = store.put("a/b", b"one")
    (tmp_path / "file").write_bytes(b"two")
    store.put("a/c/d=1", tmp_path / "file")
    assert store.read("a/b") == (b"one", version)
    assert [(one.key, one.size) for one in store.listed("a")] == [("a/b", 3), ("a/c/d=1", 3)]
    before = store.listed("a")[0].version
    store.put("a/b", b"ONE")
    assert store.listed("a")[0].version != before
    store.delete(["a/b", "a/gone"])
    assert [one.key for one in store.listed("a")] == ["a/c/d=1"]
    store.delete([])


def test_a_put_on_a_condition_happens_once_and_a_repeated_one_is_success(store):
    first = store.put("k", b"one", ABSENT)
    assert store.put("k", b"one", ABSENT) == first, "the answer to the first try may have been lost"
    with pytest.raises(ChangedError):
        store.put("k", b"two", ABSENT)
    second = store.put("k", b"two", first)
    with pytest.raises(ChangedError):
        store.put("k", b"three", first)
    assert store.put("k", b"two", first) == second
    with pytest.raises(ChangedError):
        store.put("missing", b"x", first)
    assert store.read("k") == (b"two", second)


@pytest.mark.parametrize("key", ["", "/a", "a//b", "../a", "a/..", "a/./b", "a b", "a\nb", "ä", "a/", "%2e"])
def test_no_key_leaves_the_store(key, tmp_path):
    store = open_store(str(tmp_path))
    with pytest.raises(StoreError, match="cannot name an object"):
        store.put(key, b"x")


@every(
    "address",
    ["ftp://host/x", "http://host/x", "s3://", "file://", "s3://b/x?key=1", "s3://u@b/x", "relative/folder", "S3://b/x\n"],
)  # fmt: skip
def test_an_address_of_no_known_kind_is_refused_in_one_line(address):
    with pytest.raises(StudyError, match=r"deploy\.store") as error:
        scheme_of(address)
    assert "\n" not in str(error.value)


def test_what_others_put_beside_a_study_is_passed_over(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("odd name", "k", ".hidden"):
        (tmp_path / "a" / name).write_text("x")
    assert [one.key for one in open_store(str(tmp_path)).listed("a")] == ["a/k"]


@pytest.mark.parametrize("wrong", ["credentials", "bucket", "server"])
def test_a_store_that_cannot_be_used_is_said_in_one_line(s3, monkeypatch, wrong):
    monkeypatch.setattr("metacog_pipeline.storage.objects.READING_S", 0.2)
    address = "s3://nobody-made-this/x" if wrong == "bucket" else s3
    if wrong == "credentials":
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    if wrong == "server":
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match=r"cannot list the store s3://.*check the address") as error:
        open_store(address).listed("k")
    assert "\n" not in str(error.value) and "AWS_ACCESS_KEY_ID" in str(error.value)


class Careless:
    """A store that takes no notice of conditions."""

    address = "s3://careless/x"

    def __init__(self, store: Store, refusing: bool) -> None:
        self._store, self._refusing = store, refusing
        self.delete = store.delete

    def put(self, key: str, content: bytes, when: str | None = None) -> str:
        return self._store.put(key, content, when if self._refusing and when == ABSENT else None)


@pytest.mark.parametrize("refusing", [True, False])
def test_a_store_that_ignores_conditions_is_refused(tmp_path, refusing):
    careless = Careless(open_store(str(tmp_path)), refusing)
    with pytest.raises(StoreError, match="ignores conditional puts"):
        probe(careless, "p")  # type: ignore[arg-type]


def test_a_home_is_attached_once_and_let_go(s3, tmp_path):
    attach(Home(tmp_path), s3, None)
    one = attachment(Home(tmp_path))
    attach(Home(tmp_path), s3, "PG")
    assert attachment(Home(tmp_path)) == one._replace(ledger="PG")
    found = store_of(Home(tmp_path))
    assert found is not None and found.address == s3 and found.listed("probe") == []
    attach(Home(tmp_path), None, None)
    assert store_of(Home(tmp_path)) is None and attachment(Home(tmp_path)).identity == ""


@pytest.mark.parametrize("damaged", ["", "{}", "[1]", '{"store": 1, "ledger": null, "identity": ""}', "\0"])
def test_a_damaged_attachment_is_not_taken_for_a_plain_home(tmp_path, damaged):
    (tmp_path / FILE_NAME).write_text(damaged)
    with pytest.raises(StoreError, match="is damaged; delete it"):
        store_of(Home(tmp_path))


@every(
    ("line", "refused"),
    [
        ("h:/x {} nfs4 rw,vers=4.2,local_lock=none 0 0", False),
        ("h:/x {} nfs rw,vers=3,nolock 0 0", True),
        ("h:/x {} nfs rw,local_lock=all 0 0", True),
        ("//h/x {} cifs rw,nobrl 0 0", True),
        ("s3 {} fuse.s3fs rw 0 0", True),
        ("/dev/sda {} ext4 rw 0 0", False),
    ],
)
def test_a_file_system_without_locks_between_hosts_is_refused(tmp_path, line, refused):
    mounts, folder = tmp_path / "mounts", tmp_path / "with space"
    mounted = line.format(str(folder).replace(" ", r"\040"))
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nbroken\n{mounted}\n")
    why = pytest.raises(MetacogError, match="locks do not hold between hosts")
    with why if refused else contextlib.nullcontext():
        refuse_unlocked(folder / "below", "deploy.store", mounts)
    refuse_unlocked(tmp_path, "deploy.store", mounts)


def test_between_the_look_of_one_host_and_its_write_no_other_writes(tmp_path, monkeypatch):
    store = open_store(str(tmp_path / "store"))
    version = store.put("a", b"1")
    looked, go_on = threading.Event(), threading.Event()
    look = folders.FolderStore.read

    def paused(*given):
        found = look(*given)
        if not looked.is_set():
            looked.set()
            assert go_on.wait(20)
        return found

    monkeypatch.setattr(folders.FolderStore, "read", paused)
    with ThreadPoolExecutor(2) as hosts:
        first = hosts.submit(store.put, "a", b"2", version)
        assert looked.wait(20)
        second = hosts.submit(store.put, "a", b"3", version)
        done, _ = wait([second], timeout=0.3)
        go_on.set()
    assert not done and first.exception() is None
    assert isinstance(second.exception(), ChangedError) and store.read("a").content == b"2"

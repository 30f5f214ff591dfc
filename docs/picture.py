"""Take the README's picture of the demo's first screen, and write what the demo prints into the README.

``python docs/picture.py`` runs the demo in a temporary folder and needs Chromium. ``docs/first_screen.sha256`` keeps two
digests: of the HTML and style that the picture shows, which a test compares with a new demo, and of the picture.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README, PICTURE = ROOT / "README.md", ROOT / "docs" / "first_screen.png"
DIGEST = PICTURE.with_suffix(".sha256")
BLOCK = re.compile(
    r"(?<=<!-- what the demo prints: python docs/picture.py writes it -->\n```\n).*?(?=^```)", re.M | re.S
)
MOST_BYTES = 200_000


def run_demo(folder: Path) -> str:
    """Run the demo in ``folder``/metacog-demo and return what it prints, with paths relative to ``folder``."""
    command = [sys.executable, "-m", "metacog_pipeline", "demo"]
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.lstrip("\n").replace(f"{folder.resolve()}/", "")


def page(folder: Path) -> Path:
    """Return the report of a demo that ran in ``folder``."""
    return folder / "metacog-demo" / "home" / "report" / "index.html"


def digest(report: Path) -> str:
    """Return the SHA-256 of what the first screen shows: the style and the section of the verdict."""
    text = report.read_text("utf-8")
    shown = [
        *re.findall(r"<style>.*?</style>", text, re.S),
        *re.findall(r'<section id="verdict">.*?</section>', text, re.S),
    ]
    return hashlib.sha256("\n".join(shown).encode()).hexdigest()


def main() -> int:
    """Run the demo, take the picture, write the digest and the README's block."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("no chromium on the path: install it to take the picture", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        printed, report = run_demo(folder), page(folder)
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1280,800",
        ]
        subprocess.run(
            [chromium, *options, f"--screenshot={PICTURE}", report.as_uri()],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        taken = hashlib.sha256(PICTURE.read_bytes()).hexdigest()
        DIGEST.write_text(f"{digest(report)}\n{taken}\n", encoding="utf-8")
    README.write_text(BLOCK.sub(lambda _: printed, README.read_text("utf-8"), count=1), encoding="utf-8")
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")
    return 0 if PICTURE.stat().st_size <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())

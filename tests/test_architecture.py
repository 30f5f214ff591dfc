"""The rules that keep the code easy to live in: one direction of imports, small files, the same names everywhere."""

import ast
import functools
import re
import statistics
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.tables import every

ROOT = Path(__file__).resolve().parents[1]
CODE = ("metacog_pipeline", "assets")
LONGEST, MEDIAN, LONGEST_FUNCTION = 600, 150, 60
BENCHMARK_FILES = {"items", "prompts", "measures", "contrasts", "simulated", "report"}
TEXT_ENDINGS = {".py", ".sql", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ".jsonl", ".csv", ""}

# Written in pieces, so that this file does not hold what it looks for.
FORBIDDEN = {
    "a note to finish later": re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X{3})\b"),
    "a stub": re.compile(r"\bNot" + r"ImplementedError\b"),
    "a folder of one machine": re.compile(r"(?<![\w.~<>-])/(?:wo" + r"rk|ho" + r"me|ro" + r"ot|Us" + r"ers)/\w"),
    "the address of a package index": re.compile(r"py" + r"pi\.|python" + r"hosted|--(?:extra-)?index" + r"-url"),
}  # fmt: skip


def tracked() -> list[Path]:
    """Return the files of the project, as git lists them, or every file where there is no git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    else:
        hidden = (path for path in ROOT.rglob("*") if path.is_file())
        paths = [p for p in hidden if not any(part.startswith(".venv") for part in p.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file()]


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@functools.cache
def looked_through(path: Path) -> tuple[set[str], list[str], bool]:
    """Return what a file imports at any depth, its functions that are too long, and whether it says what it is for."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    long = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write it in full"
            found.add(node.module or "")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            size = (node.end_lineno or 0) - node.lineno + 1
            if size > LONGEST_FUNCTION:
                long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {size} lines")
    return found, long, bool(ast.get_docstring(tree))


def imports(path: Path) -> set[str]:
    return looked_through(path)[0]


def test_files_are_read_by_their_names_and_never_as_patterns():
    """A folder may be called ``study [draft]``; Polars takes brackets in a path for a pattern unless told not to."""
    reads = re.compile(r"pl\.(?:read_csv|(?:read|scan)_parquet)\(")
    for path in python_files(*CODE):
        if reads.search(source := path.read_text("utf-8")):
            for call in ast.walk(ast.parse(source)):
                if isinstance(call, ast.Call) and reads.fullmatch(f"{ast.unparse(call.func)}("):
                    in_memory = "BytesIO" in ast.unparse(call) or path.name == "kept.py"
                    told = any(each.arg == "glob" for each in call.keywords)
                    assert told or in_memory, f"{path.relative_to(ROOT)}:{call.lineno}: give glob=False"


def test_imports_point_one_way():
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    linted = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert linted.returncode == 0, linted.stdout + linted.stderr


def loading_imports(path: Path, modules: set[str]) -> set[str]:
    """Return the modules of ours that a file imports when it is loaded: not in functions, not for the type checker."""
    found: set[str] = set()
    waiting: list[ast.AST] = [*ast.parse(path.read_text(encoding="utf-8")).body]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                pass
            case ast.If(test=ast.Name("TYPE_CHECKING"), orelse=other):
                waiting += other
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(module), names=names):
                inner = {f"{module}.{alias.name}" for alias in names}
                found |= inner & modules or {module}
            case _:
                waiting += ast.iter_child_nodes(node)
    return found & modules


def in_circles(imported: dict[str, set[str]]) -> set[str]:
    """Return the modules that are left when those which import nothing left, or which nothing left imports, are taken."""
    left = set(imported)
    while True:
        used = {each for name in left for each in imported[name]}
        free = {name for name in left if name not in used or not imported[name] & left}
        if not free:
            return left
        left -= free


def test_no_file_imports_itself_by_way_of_others():
    paths = {}
    for path in python_files(*CODE):
        parts = path.relative_to(ROOT).with_suffix("").parts
        paths[".".join(parts[parts[0] == "assets" :]).removesuffix(".__init__")] = path
    imported = {name: loading_imports(path, set(paths)) - {name} for name, path in paths.items()}
    assert in_circles(imported) == set()


def test_a_circle_of_imports_would_be_found():
    assert in_circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == {"a", "b", "c"}
    assert in_circles({"a": {"b"}, "b": {"c"}, "c": set()}) == set()


def test_statistics_import_numpy_scipy_and_arviz_stats_only():
    allowed = {"numpy", "scipy", "arviz_stats", "metacog_pipeline", *sys.stdlib_module_names}
    for path in python_files("metacog_pipeline/stats"):
        for name in imports(path):
            root = name.split(".")[0]
            assert root in allowed, f"{path}: imports {name}"
            assert root != "metacog_pipeline" or name.startswith("metacog_pipeline.stats"), f"{path}: {name}"


def test_the_library_knows_no_dagster():
    for path in python_files("metacog_pipeline"):
        assert not {name.split(".")[0] for name in imports(path)} & {"dagster", "metacog_assets"}, path


def test_assets_is_a_folder_of_sources_and_never_a_package():
    # A user's own assets/ must not shadow the code location.
    assert not (ROOT / "assets" / "__init__.py").exists()
    for path in python_files("assets"):
        assert path.is_relative_to(ROOT / "assets" / "metacog_assets"), path


def test_files_stay_small():
    sizes = {path: lines(path) for path in python_files(*CODE)}
    assert statistics.median(sizes.values()) < MEDIAN
    for path, size in {**sizes, **{p: lines(p) for p in python_files("tests")}}.items():
        assert size <= LONGEST, f"{path}: {size} lines"


def benchmarks() -> list[Path]:
    folders = sorted((ROOT / "metacog_pipeline" / "benchmarks").iterdir())
    return [f for f in folders if (f / "__init__.py").exists() and f.name != "common"]


#: Benchmarks that reproduce no paper: questions of one's own, in the simplest shape a benchmark can have.
PAPERLESS, MOST_LINES = {"questions"}, 795


def test_a_benchmark_without_a_paper_is_one_small_folder():
    for folder in (each for each in benchmarks() if each.name in PAPERLESS):
        assert all(path.is_file() for path in folder.iterdir() if path.name != "__pycache__")
        assert sum(map(lines, folder.glob("*.py"))) <= MOST_LINES


@every("folder", [f for f in benchmarks() if f.name not in PAPERLESS], ids=lambda f: f.name)
def test_every_benchmark_has_the_same_files_and_names_its_source(folder):
    present = {
        each.stem for each in folder.iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()
    }
    assert present >= BENCHMARK_FILES, f"{folder.name} lacks {sorted(BENCHMARK_FILES - present)}"
    assert present & {"read", "parsing"}, f"{folder.name} has no read.py"
    opening = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert re.search(r"\b(?:19|20)\d\d\b", opening), f"{folder.name}: the docstring names no year"
    assert re.search(r"doi|arxiv", opening, re.IGNORECASE), f"{folder.name}: it names no DOI or arXiv id"


def code_lines(path: Path) -> str:
    """Return the code of a Python file without docstrings and comments."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        documented = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module))
        if documented and node.body and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def test_nothing_outside_its_own_folders_names_a_benchmark():
    names = [folder.name for folder in benchmarks()]
    # A name that is a word of the language as well names the benchmark where a benchmark is named.
    told = [rf"benchmarks[./]{n}\b|benchmarks?\W{{0,4}}=+ ?'{n}'" if n in PAPERLESS else n for n in names]
    classes = [each.value.rpartition(":")[2] for each in entry_points(group="metacog.benchmarks")]
    wanted = re.compile("|".join([*told, *classes]))
    own = re.compile(rf"(?:^|/)benchmarks/(?:{'|'.join(names)})/")
    found = []
    for path in [*python_files(*CODE), *sorted((ROOT / "dbt_like_sql").rglob("*.sql"))]:
        shown = str(path.relative_to(ROOT))
        if own.search(shown):
            continue
        text = path.read_text("utf-8")
        if path.suffix == ".py" and wanted.search(text):  # else there is nothing to parse for
            text = code_lines(path)
        found += [f"{shown}: {match}" for match in set(wanted.findall(text))]
    assert not found


#: What only this house once called so; a reader from the field would have to guess.
HOUSE_WORDS = re.compile(
    r"\b(?:Seat|Helpers|Crew|Stranger|Asker|Cast|settle|foreseen|strangers|sloppily|voices?|whatever came|told once)\b"
)


def test_names_and_documents_use_the_words_of_the_field():
    paths = [*python_files(*CODE), ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = {str(path.relative_to(ROOT)): HOUSE_WORDS.findall(path.read_text("utf-8")) for path in paths}
    assert {name: words for name, words in found.items() if words} == {}


def test_functions_stay_small():
    assert [each for path in python_files(*CODE) for each in looked_through(path)[1]] == []


def test_every_module_says_what_it_is_for():
    for path in python_files(*CODE):
        assert looked_through(path)[2], f"{path}: no docstring"


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what):
    texts = {path: path.read_text("utf-8", "replace") for path in tracked() if path.suffix in TEXT_ENDINGS}
    found = {str(path.relative_to(ROOT)): FORBIDDEN[what].search(text) for path, text in texts.items()}
    assert {name: match[0] for name, match in found.items() if match} == {}, what

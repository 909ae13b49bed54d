"""The import table of ARCHITECTURE.md is the truth, both ways."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "crlm"


def table():
    """Module -> modules it may import, from ARCHITECTURE.md."""
    rows = re.findall(r"^\| `([\w.]+)` \|([^|]*)\|", (ROOT / "ARCHITECTURE.md").read_text(), re.M)
    return {name: set(re.findall(r"`([\w.]+)`", cells)) for name, cells in rows}


def module_name(path):
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path):
    """Modules of crlm that are imported when this one is, leaving out what only types need."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module == "crlm":
            yield from (alias.name for alias in node.names if alias.name != "__version__")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crlm."):
            yield node.module.removeprefix("crlm.")
        elif isinstance(node, ast.Import):
            yield from (a.name.removeprefix("crlm.") for a in node.names if a.name[:4] == "crlm")


def modules():
    paths = {module_name(path): path for path in SRC.rglob("*.py")}
    return {name: path for name, path in paths.items() if name not in ("__init__", "__main__")}


def test_every_module_imports_exactly_what_its_row_allows():
    allowed = table()
    for name, path in modules().items():
        assert set(imports_of(path)) == allowed[name], name


def test_the_table_lists_every_module_and_no_other():
    assert set(table()) == set(modules())


def test_every_module_imports_only_modules_above_it():
    seen = set()
    for name, imported in table().items():
        assert imported <= seen, name
        seen.add(name)


def test_only_the_estimator_knows_scikit_learn_and_comparisons_its_clusterers():
    users = {name for name, path in modules().items() if "sklearn" in path.read_text()}
    competitors = {"baselines.library", "baselines.knnclust"}
    assert users == {"estimator", "bench.programs"} | competitors


def test_only_the_command_reproduce_uses_the_studies_and_only_they_the_competitors():
    for name, path in modules().items():
        text = path.read_text()
        if not name.startswith(("reproduce", "cli.reproduce")):
            assert "crlm.reproduce" not in text, name
            assert name.startswith("baselines") or "crlm.baselines" not in text, name

"""Prints the sizes of rooms for the reader: ``tools/sizes.py [FOLDER …]``. It fails for nothing.

Code lines are lines with code: neither blank, nor comment, nor docstring. A multi-line string that
is no docstring counts in full.
"""

from __future__ import annotations

import ast
import sys
from itertools import groupby
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("gpugda", "adapters", "strategies", "lab", "tools", "tests")


class Size(NamedTuple):
    """A module: its path, code lines, all lines, and the code lines of each function."""

    path: Path
    code: int
    lines: int
    functions: list[int]


def size_of(path: Path) -> Size:
    """The size of a module."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    lines = enumerate(text.splitlines(), 1)
    code = {number for number, line in lines if (bare := line.strip()) and bare[0] != "#"}
    for node in nodes:
        if isinstance(node, ast.JoinedStr | ast.Constant) and node.end_lineno != node.lineno:
            code.update(_lines(node))
    for node in nodes:
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            code.difference_update(_lines(node.body[0]))
    functions = [
        len(code.intersection(_lines(node)))
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return Size(path, len(code), text.count("\n"), functions)


def _lines(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or 0) + 1)


def _row(name: str, sizes: list[Size]) -> str:
    functions = sorted(length for size in sizes for length in size.functions) or [0]
    middle = functions[len(functions) // 2]
    most = quantiles(functions, n=10)[-1] if len(functions) > 1 else functions[0]
    longest = max(sizes, key=lambda size: size.code)
    code, lines = sum(size.code for size in sizes), sum(size.lines for size in sizes)
    return (
        f"{name:34}{len(sizes):>8}{code:>8}{lines:>8}{middle:>10}{most:>6.0f}"
        f"   {longest.path.name} {longest.code}"
    )


def _place(path: Path) -> tuple[Path, str]:
    return path.parent, path.name


def main() -> None:
    """Prints a row for each folder, with its modules, and one for each top-level folder."""
    print(f"{'folder':34}{'modules':>8}{'code':>8}{'lines':>8}{'function':>10}{'p90':>6}   longest")
    for folder in sys.argv[1:] or FOLDERS:
        sizes = [size_of(path) for path in sorted((ROOT / folder).rglob("*.py"), key=_place)]
        if not sizes:
            continue
        if folder in ("gpugda", "strategies") or sys.argv[1:]:
            for parent, each in groupby(sizes, key=lambda size: size.path.parent):
                print(_row(f"  {parent.relative_to(ROOT)}", list(each)))
        print(_row(folder, sizes))


if __name__ == "__main__":
    main()

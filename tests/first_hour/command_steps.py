"""The first minutes at a shell: the demo, the doctor, a query in all formats, and misspellings."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path

from steps import BIN, Group, LeftOutError, command, same, tells

group = Group("shell")
DOG = "MATCH (w:Word {name: $name})-[:HAS_SENSE]->(s:NounAnimal) RETURN s.name AS name, w.name AS w"
RUN = ("gpugda", "run", "-a", "sample:wordnet")


def _dog(form: str) -> str:
    return command(*RUN, "--format", form, "-P", "name='dog'", DOG).out


@group.step("gpugda --version")
def version() -> object:
    return tells(command("gpugda", "--version").out, "0.").strip()


@group.step("gpugda doctor, with nothing compiled and an empty home")
def doctor() -> object:
    out = command("gpugda", "doctor").out
    return tells(out, "ok gpugda", "ok    kernels build", "Ready: gpugda demo").split("\n")[-2]


@group.step("gpugda warmup, then again: nothing is left to compile")
def warmup() -> object:
    command("gpugda", "warmup")
    again = command("gpugda", "warmup")
    said = again.out + again.err
    if "took" in said and "compiling" in said:
        raise AssertionError(f"compiled twice: {said}")
    return said


@group.step("gpugda demo")
def demo() -> object:
    out = command("gpugda", "demo").out
    return tells(out, "264,965 nodes", "29780", "engine gpu", "Go on:").split("\n")[0]


@group.step("gpugda devices")
def devices() -> object:
    return tells(command("gpugda", "devices").out, "0", "cpu")


@group.step("gpugda status of the sample")
def status() -> object:
    return tells(command("gpugda", "status", "-a", "sample:wordnet").out, "264", "584")


@group.step("gpugda run, plain")
def plain() -> object:
    return same(_dog("plain").splitlines(), ["name, w", '"dog", "dog"'])


@group.step("gpugda run --format json")
def as_json() -> object:
    (row,) = json.loads(_dog("json"))
    return same(row["name"], "dog")


@group.step("gpugda run --format csv")
def as_csv() -> object:
    import csv

    rows = list(csv.DictReader(io.StringIO(_dog("csv"))))
    return same([row["name"] for row in rows], ["dog"])


@group.step("gpugda run --format arrow --output FILE")
def as_arrow() -> object:
    import pyarrow as pa

    command(*RUN, "--format", "arrow", "--output", "dog.arrow", "-P", "name='dog'", DOG)
    return same(pa.ipc.open_file("dog.arrow").read_all()["name"].to_pylist(), ["dog"])


@group.step("gpugda run --summary, query by standard input")
def summary() -> object:
    said = command(*RUN, "--summary", "-P", "name='dog'", stdin=DOG)
    tells(said.out, '"dog"')
    return tells(said.err, "gpu", "total")


@group.step("gpugda run --profile")
def profile() -> object:
    return tells(command(*RUN, "--profile", "-P", "name='dog'", DOG).err, "1 row", "walk")


@group.step("gpugda explain")
def explain() -> object:
    return tells(command("gpugda", "explain", "-a", "sample:wordnet", DOG).out, "engine", "extend")


@group.step("gpugda shell with piped input")
def shell() -> object:
    typed = ':param n => "dog"\nMATCH (w:Word {name: $n})\nRETURN w.name;\n:engine\n:params\n'
    out = command("gpugda", "shell", "-a", "sample:wordnet", stdin=typed).out
    return tells(out, '"dog"', "auto", "n")


@group.step("gpugda shell, a mistake in line 3")
def shell_mistake() -> object:
    typed = "MATCH (w:Word) RETURN count(w);\n\nMATCH (w:Word RETURN w;"
    said = command("gpugda", "shell", "-a", "sample:wordnet", stdin=typed, code=1)
    tells(said.out, "147306")
    return tells(said.err, "line 3 of standard input", "line 1, column 15", "^")


@group.step("neo4j-admin's CSV files on the command line")
def import_files() -> object:
    Path("people.csv").write_text("id:ID,name\n1,Ann\n2,Bo\n")
    Path("knows.csv").write_text(":START_ID,:END_ID\n1,2\n2,1\n")
    files = ("--nodes", "Person=people.csv", "--relationships", "KNOWS=knows.csv")
    query = "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(a) RETURN a.name, b.name ORDER BY a.name"
    out = command("gpugda", "run", *files, query).out
    return same(out.splitlines()[1:], ['"Ann", "Bo"', '"Bo", "Ann"'])


@group.step("gpugda snapshot save, info, and run on it")
def snapshot() -> object:
    command("gpugda", "snapshot", "save", "wordnet", "-a", "sample:wordnet")
    info = command("gpugda", "snapshot", "info", "wordnet").out
    out = command("gpugda", "run", "-a", "wordnet", "MATCH (w:Word) RETURN count(w) AS n").out
    same(out.split(), ["n", "147306"])
    return tells(info, "264,965", "584,570")


# ------------------------------------------------------------------ disks
@group.step("damaged kernels are compiled anew")
def damaged_kernels() -> object:
    kernels = list(Path.home().glob(".cache/gpugda/pocl/**/*.so"))
    if not kernels:
        raise LeftOutError("PoCL compiled no kernel")
    saved = {path: path.read_bytes() for path in kernels}
    for path in kernels:
        path.write_bytes(b"")
    paths = "MATCH (w:Word)-->(s)-->(t) RETURN count(*) AS paths"  # too many for the host
    said = command(*RUN, "--engine", "gpu", paths)
    for path, content in saved.items():
        if path.exists() and not path.stat().st_size:  # later steps need not compile it
            path.write_bytes(content)
    tells(said.out, "paths")
    return tells(said.err, "is damaged", "compiled anew").splitlines()[0]


@group.step("a full disk, exit code 4")
def full_disk() -> object:
    apart = (shutil.which("unshare") or "unshare", "--user", "--map-root-user", "--mount")
    mount = 'mkdir -p disk && mount -t tmpfs -o size=600k,mode=700 tmpfs disk && HOME="$PWD/disk"'
    try:
        command(*apart, "sh", "-c", f"{mount} true")
    except (OSError, AssertionError) as error:
        raise LeftOutError("this user may not mount a file system") from error
    run = f"{BIN / 'gpugda'} run -a sample:wordnet --device cpu --engine gpu"
    said = command(*apart, "sh", "-c", f"{mount} {run} 'MATCH (n) RETURN count(n)'", code=4)
    return tells(said.err, "no room left").splitlines()[-1]


# ------------------------------------------------------------------ misspellings
@group.step("a misspelt label is a warning with the right name")
def label() -> object:
    said = command(*RUN, "MATCH (w:Wrod) RETURN count(w) AS n")
    same(said.out.split(), ["n", "0"])
    return tells(said.err, ":Wrod (line 1, column 10)", "did you mean :Word?").splitlines()[-1]


@group.step("a misspelt keyword, with place and caret, exit code 1")
def keyword() -> object:
    said = command(*RUN, "MATCH (w:Word) RETRUN w", code=1)
    same(said.out, "")
    return tells(said.err, "did you mean RETURN?", "line 1, column 16", "^^^^^^")


@group.step("a misspelt option, exit code 2")
def option() -> object:
    return tells(command(*RUN, "--fromat", "json", DOG, code=2).err, "--fromat", "--format")


@group.step("an unknown format, exit code 2")
def unknown_format() -> object:
    return tells(command(*RUN, "--format", "xml", DOG, code=2).err, "xml", "json", "arrow")


@group.step("a parameter that is missing, exit code 1")
def missing() -> object:
    return tells(command(*RUN, DOG, code=1).err, "$name", "^")


@group.step("no source at all, exit code 2")
def no_source() -> object:
    environment = {"NEO4J_URI": "", "GPUGDA_SOURCE": ""}
    said = command("gpugda", "run", "MATCH (n) RETURN n", code=2, **environment).err
    return tells(said, "NEO4J_URI", "GPUGDA_SOURCE")


@group.step("a file that is not there, exit code 3")
def no_file() -> object:
    said = command("gpugda", "run", "-a", "graph.graphml", "MATCH (n) RETURN n", code=3)
    return tells(said.err, "graph.graphml")


@group.step("http:// is no address, exit code 2")
def no_address() -> object:
    said = command("gpugda", "run", "-a", "http://localhost:7474", "MATCH (n) RETURN n", code=2)
    return tells(said.err, "http://localhost:7474", "bolt://", "neo4j://")


@group.step("a server that is not there, exit code 3")
def no_server() -> object:
    said = command("gpugda", "run", "-a", "bolt://127.0.0.1:1", "MATCH (n) RETURN n", code=3)
    return tells(said.err, "Nothing listens there")


@group.step("the time limit, exit code 5")
def time_limit() -> object:
    query = "MATCH (a)--(b)--(c)--(d)--(e)--(f)--(g) RETURN count(DISTINCT a)"
    said = command(*RUN, "--timeout", "3", query, code=5)
    same(said.out, "")
    return tells(said.err, "time limit").splitlines()[-1]


if __name__ == "__main__":
    sys.exit(bool(group.run()))

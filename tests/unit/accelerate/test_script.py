from __future__ import annotations

import subprocess
import sys

import pytest

DRIVER = """
import neo4j
class Made(neo4j.Driver):
    def __init__(self, *args, **config): self.closed = False
    def __del__(self): pass
    def execute_query(self, query_, parameters_=None, routing_="w", database_=None,
                      impersonated_user_=None, bookmark_manager_=None, auth_=None,
                      result_transformer_=None, **kwargs):
        return "from the driver"
    def session(self, **config): raise OSError("no server")
    def close(self): self.closed = True
    execute_query_bookmark_manager = None
neo4j.GraphDatabase.driver = Made
"""


WHO_AM_I = """
from __future__ import annotations
import inspect, sys, beside
print(sys.argv, __name__, __file__, sys.path[0], __builtins__, beside.name)
print(sys.modules["__main__"].__dict__.keys() >= {"inspect"})
def f(x: Missing): pass
print(f.__annotations__, inspect.getsource(f))
sys.exit(7)
"""


def run(tmp_path, script, *arguments, accelerated=True):
    path = tmp_path / "script.py"
    path.write_text(script)
    (tmp_path / "beside.py").write_text("name = __name__")
    # The fake driver must be there before the drivers are patched, as the real one is.
    (tmp_path / "sitecustomize.py").write_text(DRIVER)
    options = ("-m", "gpugda.accelerate") if accelerated else ()
    return subprocess.run(
        [sys.executable, *options, *arguments[: len(arguments) - 1], str(path), arguments[-1]],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path.parent,
    )


@pytest.mark.parametrize(
    "script",
    [
        WHO_AM_I,
        "import sys; sys.exit('a message')",
        "def f():\n    return 1 / 0\ntry:\n    f()\nexcept ValueError:\n    pass",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e",
        "x = (",
    ],
)
def test_a_script_cannot_tell(tmp_path, script):
    plain = run(tmp_path, script, "argument", accelerated=False)
    ours = run(tmp_path, script, "argument")
    assert (ours.returncode, ours.stdout, ours.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )


def test_drivers_are_accelerated(tmp_path):
    script = (
        "import neo4j\nfrom neo4j import GraphDatabase\n"
        "with GraphDatabase.driver('bolt://x', auth=('a', 'b')) as d:\n"
        "    print(type(d).__name__, isinstance(d, neo4j.Driver), d.execute_query('RETURN 1'))\n"
    )
    quiet = run(tmp_path, script, "x")
    assert quiet.stdout == "AcceleratedDriver True from the driver\n"
    assert quiet.stderr == ""
    told = run(tmp_path, script, "-v", "x")
    assert told.stderr.startswith("gpugda: driver: 0 accelerated, 1 passed through (1: it is being")
    none = run(tmp_path, "print(1)", "-v", "x")
    assert none.stderr == "gpugda: the script made no driver\n"


def test_mistakes(tmp_path):
    missing = subprocess.run(
        [sys.executable, "-m", "gpugda.accelerate", "missing.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert missing.returncode == 2
    assert "can't open file 'missing.py': No such file" in missing.stderr
    wrong = run(tmp_path, "print(1)", "--freshness", "perhaps", "x")
    assert wrong.returncode == 2
    assert "perhaps" in wrong.stderr

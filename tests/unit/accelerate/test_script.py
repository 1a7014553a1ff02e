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


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        WHO_AM_I,
        "import sys; sys.exit('a message')",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e",
        "x = (",
    ],
)
def test_a_script_runs_as_with_python(tmp_path, script):
    plain = run(tmp_path, script, "argument", accelerated=False)
    ours = run(tmp_path, script, "argument")
    assert (ours.returncode, ours.stdout, ours.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )


def test_drivers_of_a_script_are_accelerated(tmp_path):
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


@pytest.mark.slow
def test_usage_errors_are_reported(tmp_path):
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


# ------------------------------------------------------------------ modules, and gpugda.install
WHICH = """
import sys, neo4j
with neo4j.GraphDatabase.driver('bolt://x', auth=('a', 'b')) as driver:
    print(type(driver).__name__, driver.execute_query('RETURN 1'))
print(__name__, __package__, __file__.endswith(('tool.py', '__main__.py')), sys.argv[1:])
print(sys.argv[0] == __file__, sys.modules['__main__'].__dict__['__name__'])
"""


def run_module(tmp_path, *arguments):
    (tmp_path / "tool.py").write_text(WHICH)
    package = tmp_path / "kit"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(WHICH)
    (package / "broken.py").write_text("def f():\n    return 1 / 0\nf()\n")
    (tmp_path / "sitecustomize.py").write_text(DRIVER)
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kit", ["--load", "background", "-v"]),
        ("kit.__main__", ["-v"]),
        ("tool", []),
    ],
)
def test_a_module_runs_as_with_python(tmp_path, name, options):
    plain = run_module(tmp_path, name, "one", "-m", "-v", "--load")
    command = ["gpugda.accelerate", *options, "-m", name]
    ours = run_module(tmp_path, *command, "one", "-m", "-v", "--load")
    assert ours.stdout == plain.stdout.replace("Made ", "AcceleratedDriver ")
    assert ours.returncode == plain.returncode == 0
    assert ours.stderr.startswith("gpugda: driver: 0 accelerated" if "-v" in options else "")


@pytest.mark.slow
def test_errors_of_a_module_are_those_of_python(tmp_path):
    ours = run_module(tmp_path, "gpugda.accelerate", "-m", "kit.broken")
    assert ours.returncode == 1
    assert ours.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "accelerate" not in ours.stderr
    missing = run_module(tmp_path, "gpugda.accelerate", "-m", "no_such_module")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr.endswith(": No module named no_such_module\n")
    nothing = run_module(tmp_path, "gpugda.accelerate", "-m")
    assert nothing.returncode == 2


INSTALLED = """
import neo4j
from neo4j import GraphDatabase
import gpugda
before = GraphDatabase.driver('bolt://x')
gates = gpugda.install(load="background")
with GraphDatabase.driver('bolt://x') as first:
    print(type(before).__name__, type(first).__name__, first.execute_query('RETURN 1'))
assert gpugda.install(freshness="manual") is gates
with GraphDatabase.driver('bolt://x') as second:
    print(type(second._driver).__name__, len(gates), gates[1].tally.passed_through.popitem()[1:]
        if second.execute_query('RETURN 1') else '')
for wrong in ({"freshnes": "manual"}, {"load": "never"}):
    try:
        gpugda.install(**wrong)
    except gpugda.ConfigurationError as error:
        print(str(error).split(';')[0])
"""


@pytest.mark.slow
def test_install_accelerates_drivers_made_later(tmp_path):
    done = run(tmp_path, INSTALLED, "x", accelerated=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "Made AcceleratedDriver from the driver",
        "Made 2 (1,)",
        "accelerate() has no option freshnes",
        "load is 'never'",
    ]

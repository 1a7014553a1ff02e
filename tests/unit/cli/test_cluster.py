"""``gpugda cluster`` prints commands that exist."""

from importlib.metadata import entry_points


def test_the_commands_exist(gpugda_command):
    result = gpugda_command("cluster")
    assert result.exit_code == 0
    commands = {each.name for each in entry_points(group="dask_cli")}
    for name in ("scheduler", "worker"):
        assert f"dask {name} " in result.output
        assert name in commands

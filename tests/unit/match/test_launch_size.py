from gpugda.match.launch_size import LaunchSize


def test_the_launch_size_grows_while_launches_are_quick_and_full():
    launches = LaunchSize(100, 350, seconds=0.2)
    launches.record(40, 0.001)
    assert launches.size == 100
    sizes = []
    for _ in range(3):
        launches.record(launches.size, 0.01)
        sizes.append(launches.size)
    assert sizes == [200, 350, 350]


def test_the_launch_size_shrinks_to_the_time_limit():
    launches = LaunchSize(1000, 1000, seconds=0.2)
    launches.record(1000, 0.15)
    assert launches.size == 1000
    launches.record(1000, 2.0)
    assert launches.size == 100
    launches.record(2, 3600.0)
    assert launches.size == 1


def test_the_first_launch_size_is_bounded():
    assert LaunchSize(10, 3, 1.0).size == 3

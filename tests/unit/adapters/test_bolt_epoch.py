"""Recognising a restarted server by its start time."""

from gpugda_adapters.bolt_epoch import ServerEpoch


class Connection:
    pass


class Server:
    def __init__(self, started="100"):
        self.started = started
        self.asked = 0

    def __call__(self):
        self.asked += 1
        return self.started


def test_the_start_time_is_asked_once_per_connection():
    epoch, server, connection = ServerEpoch(), Server(), Connection()
    assert [epoch.name_for(connection, server) for _ in range(3)] == ["100"] * 3
    assert server.asked == 1


def test_another_connection_to_the_same_process_keeps_the_name():
    epoch, server = ServerEpoch(), Server()
    first, second = Connection(), Connection()
    assert epoch.name_for(first, server) == epoch.name_for(second, server) == epoch.name
    assert server.asked == 2
    epoch.name_for(first, server)
    assert server.asked == 2


def test_a_restart_changes_the_name_for_all_connections():
    epoch, server = ServerEpoch(), Server()
    old = Connection()
    epoch.name_for(old, server)
    server.started = "200"
    assert epoch.name_for(Connection(), server) == "200"
    assert epoch.name_for(old, server) == "200"
    assert server.asked == 3


def test_without_a_start_time_each_connection_has_its_own_name():
    epoch, silent = ServerEpoch(), Server(None)
    connection = Connection()
    first = epoch.name_for(connection, silent)
    assert epoch.name_for(connection, silent) == first
    assert epoch.name_for(Connection(), silent) != first


def test_the_server_is_asked_each_time_if_the_connection_is_unknown():
    epoch, server = ServerEpoch(), Server()
    assert epoch.name_for(None, server) == epoch.name_for(None, server) == "100"
    assert server.asked == 2
    silent = Server(None)
    assert epoch.name_for(None, silent) != epoch.name_for(None, silent)

"""The cached process id changes after a fork."""

import os

import pytest

from gpugda.process import process_id


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_process_id_is_that_of_a_forked_child():
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(process_id()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 100)) == child
    assert process_id() == os.getpid()

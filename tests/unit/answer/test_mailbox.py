"""Items passed between threads and event loops."""

import asyncio
import threading

import pytest

from gpugda.answer.watching import Mailbox


def test_items_come_in_order_then_the_error_once_then_the_end():
    mailbox = Mailbox()
    for number in range(3):
        mailbox.put(number)
    mailbox.fail(ValueError("wrong"))
    mailbox.fail(KeyError("later"))
    mailbox.put(9)
    assert [mailbox.get() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="wrong"):
        mailbox.get()
    assert mailbox.get() is None
    assert mailbox.get() is None


def test_nothing_is_added_after_the_end():
    mailbox = Mailbox()
    mailbox.put(1)
    mailbox.end()
    mailbox.put(2)
    mailbox.fail(ValueError("late"))
    assert [mailbox.get(), mailbox.get(), mailbox.get()] == [1, None, None]


def read(mailbox, found):
    while (item := mailbox.get()) is not None:
        found.append(item)


async def read_with_cancelled_waits(mailbox, found):
    while True:
        try:
            item = await asyncio.wait_for(mailbox.get_async(), 0.0001)
        except TimeoutError:
            continue
        if item is None:
            return
        found.append(item)


async def read_in_tasks(mailbox, found):
    await asyncio.gather(*(read_with_cancelled_waits(mailbox, found) for _ in range(5)))


def test_each_item_reaches_one_of_many_readers():
    mailbox, found = Mailbox(), []
    readers = [threading.Thread(target=read, args=(mailbox, found)) for _ in range(3)]
    tasks = threading.Thread(target=lambda: asyncio.run(read_in_tasks(mailbox, found)))
    for each in (*readers, tasks):
        each.start()
    for number in range(2000):
        mailbox.put(number)
    mailbox.end()
    for each in (*readers, tasks):
        each.join(60)
        assert not each.is_alive()
    assert sorted(found) == list(range(2000))
    assert not mailbox._wakers


def test_a_closed_event_loop_is_no_obstacle():
    mailbox, loop = Mailbox(), asyncio.new_event_loop()
    waiting = loop.create_task(mailbox.get_async())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    mailbox.put(1)
    assert mailbox.get() == 1
    waiting._log_destroy_pending = False  # its loop was closed on purpose
    waiting.get_coro().close()

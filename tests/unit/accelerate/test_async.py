from __future__ import annotations

import asyncio
import functools
import inspect

import neo4j
import pytest
from fake_driver import READ, WRITE, FakeDevice, FakeDriver
from neo4j.exceptions import (
    ResultConsumedError,
    ServiceUnavailable,
    SessionError,
    TransactionError,
)

import gpugda
from gpugda.accelerate.accelerators import Accelerators
from gpugda.accelerate.async_driver import AsyncAcceleratedDriver
from gpugda.accelerate.gate import Gate
from gpugda.accelerate.twin import twin_of
from gpugda.errors import ConfigurationError

AWAITED = {"run", "consume", "peek", "commit", "rollback", "begin_transaction", "last_bookmarks"}


class Awaited:
    """Wraps a fake of the synchronous driver: the methods in `AWAITED` become coroutines."""

    def __init__(self, plain):
        self.plain = plain

    def __getattr__(self, name):
        found = getattr(self.plain, name)
        if name not in AWAITED and name not in ("close", "get_bookmarks"):
            return found

        async def awaited(*args, **kwargs):
            value = found(*args, **kwargs)
            return Awaited(value) if name in ("run", "begin_transaction") else value

        return awaited

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        self.plain.__exit__(*exception)

    async def __aiter__(self):
        for each in self.plain:
            yield each

    async def execute_read(self, work, *args, **kwargs):
        plain = self.plain
        plain.driver.calls.append(("execute_read", None, getattr(work, "timeout", None)))
        transaction = await self.begin_transaction()
        async with transaction:
            return await work(transaction, *args, **kwargs)


class AsyncFakeDriver:
    def __init__(self):
        self.plain = FakeDriver()
        self.execute_query_bookmark_manager = Awaited(self.plain.execute_query_bookmark_manager)

    async def execute_query(self, *args, **kwargs):
        return self.plain.execute_query(*args, **kwargs)

    _plain = inspect.signature(FakeDriver.execute_query)
    execute_query.__signature__ = _plain.replace(
        parameters=[
            each.replace(default=neo4j.AsyncResult.to_eager_result)
            if each.name == "result_transformer_"
            else each
            for each in _plain.parameters.values()
        ]
    )

    def session(self, **config):
        return Awaited(self.plain.session(**config))

    async def close(self):
        self.plain.close()

    async def __aenter__(self):
        return self


class Setup:
    def __init__(self):
        self.driver, self.reader, self.device = AsyncFakeDriver(), FakeDriver(), FakeDevice()
        accelerators = Accelerators(self.reader, lambda name: self.device, lambda driver: "neo4j")
        self.gate = Gate(accelerators, strict=True)
        assert self.gate.wait(None, 30)
        self.accelerated = AsyncAcceleratedDriver(self.driver, self.gate, self.reader)

    @property
    def calls(self):
        return self.driver.plain.calls


def with_setup(test):
    """Makes a test of a coroutine that takes a setup, and checks that the setup closes."""

    async def whole():
        setup = Setup()
        async with setup.accelerated:
            await test(setup)
        assert setup.reader.is_closed
        assert setup.device.closed
        assert setup.driver.plain.is_closed

    @functools.wraps(test)
    def run():
        asyncio.run(whole())

    del run.__wrapped__  # pytest would take its argument for a fixture
    return run


@with_setup
async def test_execute_query_answers_reads_on_the_device(setup):
    records, summary, keys = await setup.accelerated.execute_query(READ, x=1)
    assert [record["n"] for record in records] == [1, 2]
    assert (summary.engine, keys) == ("gpu", ["n"])
    assert setup.device.calls == [(READ, {"x": 1}, None)]
    assert await setup.accelerated.execute_query(WRITE) == "server"
    assert await setup.accelerated.execute_query(READ, impersonated_user_="ann") == "server"
    values = neo4j.AsyncResult.values
    assert await setup.accelerated.execute_query(READ, result_transformer_=values) == [[1], [2]]
    assert isinstance(setup.accelerated, AsyncFakeDriver)


@with_setup
async def test_server_times_are_reported_to_the_planner(setup):
    await setup.accelerated.execute_query(WRITE)
    async with setup.accelerated.session() as session:
        await (await session.run(WRITE)).consume()
    (text, seconds), again = setup.device.native
    assert (text, again) == (WRITE, (WRITE, None))
    assert seconds > 0


@with_setup
async def test_result_methods_can_be_awaited(setup):
    async with setup.accelerated.session() as session:
        result = await session.run(READ)
        assert (await result.peek())["n"] == 1
        assert [record["n"] async for record in result] == [1, 2]
        result = await session.run(READ)
        assert (await anext(result))["n"] == 1
        assert (await result.single(strict=True))["n"] == 2
        with pytest.raises(StopAsyncIteration):
            await anext(result)
        assert await (await session.run(READ)).data() == [{"n": 1}, {"n": 2}]
        assert await (await session.run(READ)).value() == [1, 2]
        assert len(await (await session.run(READ)).fetch(1)) == 1
        assert (await (await session.run(READ)).to_df()).shape == (2, 1)
        assert (await (await session.run(READ)).to_arrow()).num_rows == 2
        result = await session.run(READ)
        assert (result.keys(), result.closed()) == (["n"], False)
        assert (await result.consume()) is result.summary
        assert result.closed()
    assert setup.calls == []


@with_setup
async def test_a_read_after_a_write_sees_the_committed_write(setup):
    async with setup.accelerated.session() as session:
        await session.run(WRITE)
        assert await (await session.run(READ)).value() == [1, 2]
        assert setup.driver.plain.transactions == 1
        assert (await session.last_bookmarks()).raw_values == {"b1"}
    with pytest.raises(SessionError):
        await session.run(READ)


@with_setup
async def test_a_read_transaction_goes_to_the_server_after_its_first_write(setup):
    async with (
        setup.accelerated.session(default_access_mode="READ") as session,
        await session.begin_transaction() as transaction,
    ):
        left = await transaction.run(READ)
        with pytest.raises(TransactionError):
            await session.run(READ)
        await transaction.run(WRITE)
        await transaction.run(READ)
    assert [call[:2] for call in setup.calls if call[0] == "tx.run"] == [
        ("tx.run", WRITE),
        ("tx.run", READ),
    ]
    with pytest.raises(ResultConsumedError):
        await left.values()


@with_setup
async def test_a_transaction_function_runs_on_the_device_within_its_time_limit(setup):
    async def work(tx, text):
        return await (await tx.run(text)).value()

    async with setup.accelerated.session() as session:
        limited = neo4j.unit_of_work(timeout=5)(work)
        assert await session.execute_read(limited, READ) == [1, 2]
    assert setup.calls[0] == ("execute_read", None, 5)
    assert 4 < setup.device.calls[0][2] <= 5


def test_a_result_that_the_session_forgot_is_not_read():
    async def forget():
        setup = Setup()
        async with setup.accelerated, setup.accelerated.session() as session:
            result = await session.run(WRITE)

            async def peek():
                raise ServiceUnavailable("the connection was closed")

            result.peek = peek
            session._session._auto_result = None  # as the driver does when its work is cancelled
            found = await session.run(READ)
            assert [record["n"] async for record in found] == [1, 2]

    asyncio.run(forget())


def test_close_may_be_cancelled():
    async def begin_to_close():
        setup = Setup()

        async def close():
            try:
                await asyncio.sleep(60)
            finally:
                setup.driver.plain.close()

        setup.driver.close = close
        closing = asyncio.ensure_future(setup.accelerated.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert setup.driver.plain.is_closed
        return setup

    setup = asyncio.run(begin_to_close())
    assert setup.device.closed
    assert setup.reader.is_closed


def test_the_synchronous_twin_connects_to_the_same_server():
    for uri in ("bolt://somewhere:7777", "neo4j://[::1]:7777", "bolt+ssc://somewhere:7777"):
        driver = neo4j.AsyncGraphDatabase.driver(uri, auth=("ann", "pw"), user_agent="me")
        with twin_of(driver) as twin:
            ours, theirs = twin._pool.pool_config, driver._pool.pool_config
            assert twin._pool.address == driver._pool.address
            assert type(twin).__name__ == type(driver).__name__.removeprefix("Async")
            assert ours.auth.get_auth() == ("ann", "pw")
            assert (ours.encrypted, ours.user_agent) == (theirs.encrypted, "me")
            assert type(ours.trusted_certificates) is type(theirs.trusted_certificates)
        asyncio.run(driver.close())


def test_a_driver_without_a_possible_twin_is_refused():
    async def token():
        return ("ann", "pw")

    manager = neo4j.auth_management.AsyncAuthManagers.basic(token)
    driver = neo4j.AsyncGraphDatabase.driver("bolt://somewhere", auth=manager)
    with pytest.raises(ConfigurationError, match="credentials change with time: give one"):
        gpugda.accelerate(driver)
    asyncio.run(driver.close())
    with pytest.raises(ConfigurationError, match="unknown kind"):
        gpugda.accelerate(AsyncFakeDriver())

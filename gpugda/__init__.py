"""Cypher MATCH made fast: Neo4j pattern queries on an OpenCL device, with Neo4j's answers.

    >>> import gpugda
    >>> people = {"id": [1, 2], "labels": ["Person", "Person"], "name": ["Ann", "Bo"]}
    >>> knows = {"source": [1], "target": [2], "type": ["KNOWS"]}
    >>> with gpugda.connect(gpugda.graph(nodes=people, relationships=knows)) as accelerator:
    ...     accelerator.run("MATCH (a:Person)-[:KNOWS]->(b) RETURN a.name, b.name").values()
    [['Ann', 'Bo']]

Modules are loaded on first use, so importing this package requires neither OpenCL nor the driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpugda.errors import (
    ConfigurationError,
    CypherArgumentError,
    CypherArithmeticError,
    CypherExecutionError,
    CypherSyntaxError,
    CypherTypeError,
    DeviceError,
    GpugdaError,
    InternalError,
    MemoryLimitError,
    ParameterMissingError,
    QueryError,
    QueryTimeoutError,
    SourceError,
    StaleSnapshotError,
    UnsupportedQueryError,
)

if TYPE_CHECKING:
    from gpugda.accelerate.entry import AcceleratedDriver, AsyncAcceleratedDriver, accelerate
    from gpugda.accelerate.patch import install
    from gpugda.accelerator import Accelerator
    from gpugda.answer.watching import RowChanges, Watch
    from gpugda.api import AsyncAccelerator, connect, explain, graph, read_edges, read_import, run
    from gpugda.plan.explain import Explanation
    from gpugda.plan.operator_tree import OperatorNode
    from gpugda.plan.physical import Estimate
    from gpugda.ports import GraphSource, Progress
    from gpugda.query.query_graph import QueryGraph
    from gpugda.result.any_error import Error
    from gpugda.result.result import Result
    from gpugda.result.summary import Summary
    from gpugda.schema.graph_schema import GraphSchema
    from gpugda.serve.server import AsyncServer, serve

__all__ = [
    "AcceleratedDriver",
    "Accelerator",
    "AsyncAcceleratedDriver",
    "AsyncAccelerator",
    "AsyncServer",
    "ConfigurationError",
    "CypherArgumentError",
    "CypherArithmeticError",
    "CypherExecutionError",
    "CypherSyntaxError",
    "CypherTypeError",
    "DeviceError",
    "Error",
    "Estimate",
    "Explanation",
    "GpugdaError",
    "GraphSchema",
    "GraphSource",
    "InternalError",
    "MemoryLimitError",
    "OperatorNode",
    "ParameterMissingError",
    "Progress",
    "QueryError",
    "QueryGraph",
    "QueryTimeoutError",
    "Result",
    "RowChanges",
    "SourceError",
    "StaleSnapshotError",
    "Summary",
    "UnsupportedQueryError",
    "Watch",
    "accelerate",
    "connect",
    "explain",
    "graph",
    "install",
    "read_edges",
    "read_import",
    "run",
    "serve",
]

_HOMES = {
    "AcceleratedDriver": "gpugda.accelerate.driver",
    "Accelerator": "gpugda.accelerator",
    "AsyncAcceleratedDriver": "gpugda.accelerate.async_driver",
    "AsyncAccelerator": "gpugda.api",
    "AsyncServer": "gpugda.serve.server",
    "Error": "gpugda.result.any_error",
    "Estimate": "gpugda.plan.physical",
    "Explanation": "gpugda.plan.explain",
    "GraphSchema": "gpugda.schema.graph_schema",
    "GraphSource": "gpugda.ports",
    "OperatorNode": "gpugda.plan.operator_tree",
    "Progress": "gpugda.ports",
    "QueryGraph": "gpugda.query.query_graph",
    "Result": "gpugda.result.result",
    "RowChanges": "gpugda.answer.watching",
    "Summary": "gpugda.result.summary",
    "Watch": "gpugda.answer.watching",
    "accelerate": "gpugda.accelerate.entry",
    "connect": "gpugda.api",
    "explain": "gpugda.api",
    "graph": "gpugda.api",
    "install": "gpugda.accelerate.patch",
    "read_edges": "gpugda.api",
    "read_import": "gpugda.api",
    "run": "gpugda.api",
    "serve": "gpugda.serve.server",
    # IPython looks these up for ``%load_ext gpugda``; they are not part of the API.
    "load_ipython_extension": "gpugda.accelerate.notebook",
    "unload_ipython_extension": "gpugda.accelerate.notebook",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("gpugda")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gpugda' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

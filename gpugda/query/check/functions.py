"""Signatures of Neo4j's functions: argument counts, argument types and result types.

The types are those that the server's compiler checks, which is less than ``SHOW FUNCTIONS`` lists.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from gpugda.query.check.scope import ANY, TypeSet, of
from gpugda.types import value

__all__ = ["Signature", "changes_per_call", "signature", "unknown_function"]


@value(frozen=True, slots=True)
class Signature:
    """The signature of a function.

    Args:
        arguments: The type of each argument, including optional ones.
        least: Minimum number of arguments.
        most: Maximum number of arguments; None for any number.
        result: The result type.
        aggregates: True for an aggregating function.
    """

    arguments: tuple[TypeSet, ...]
    least: int
    most: int | None
    result: TypeSet
    aggregates: bool = False


# name(arguments) -> result; '?' marks an optional argument, '+' a repeatable one, '*' an
# aggregate.
_TABLE: Final = """
abs(Integer|Float) -> Integer|Float
acos asin atan ceil cos cot degrees exp floor haversin(Float) -> Float
log log10 radians sin sqrt tan(Float) -> Float
atan2(Float, Float) -> Float
*avg *sum(Integer|Float|Duration) -> Integer|Float|Duration
btrim ltrim rtrim(String, String?) -> String
char_length character_length(String) -> Integer
coalesce(Any+) -> Any
*collect(Any) -> List
*count(Any) -> Integer
date date.realtime date.statement date.transaction(Any?) -> Date
date.truncate(String, Any?, Map|Node|Relationship?) -> Date
datetime datetime.realtime datetime.statement datetime.transaction(Any?) -> DateTime
datetime.fromepoch(Integer|Float, Integer|Float) -> DateTime
datetime.fromepochmillis(Integer|Float) -> DateTime
datetime.truncate(String, Any?, Map|Node|Relationship?) -> DateTime
duration(Any) -> Duration
duration.between duration.indays duration.inmonths duration.inseconds(Any, Any) -> Duration
e pi rand() -> Float
elementid(Node|Relationship) -> String
endnode startnode(Relationship) -> Node
exists(Any) -> Boolean
file randomuuid() -> String
graph.byelementid graph.byname(String) -> Any
graph.names() -> List
graph.propertiesbyname(String) -> Map
head last(List) -> Any
id(Node|Relationship) -> Integer
isempty(String|Map|List|Node|Relationship) -> Boolean
isnan(Integer|Float) -> Boolean
keys(Node|Relationship|Map) -> List
labels(Node) -> List
left right(String, Integer) -> String
length(Path) -> Integer
linenumber timestamp() -> Integer
localdatetime localdatetime.realtime localdatetime.statement(Any?) -> LocalDateTime
localdatetime.transaction(Any?) -> LocalDateTime
localdatetime.truncate(String, Any?, Map|Node|Relationship?) -> LocalDateTime
localtime localtime.realtime localtime.statement localtime.transaction(Any?) -> LocalTime
localtime.truncate(String, Any?, Map|Node|Relationship?) -> LocalTime
lower upper tolower toupper(String) -> String
*max *min(Any) -> Any
nodes(Path) -> List
normalize(String, Any?) -> String
nullif(Any, Any) -> Any
*percentilecont(Float, Float) -> Float
*percentiledisc(Integer|Float, Float) -> Integer|Float
point(Map|Node|Relationship) -> Point
point.distance(Any, Any) -> Float
point.withinbbox(Any, Any, Any) -> Boolean
properties(Node|Relationship|Map) -> Map
range(Integer, Integer, Integer?) -> List
relationships(Path) -> List
replace(String, String, String) -> String
reverse(String|List) -> String|List
round(Float, Integer|Float?, String?) -> Float
sign(Integer|Float) -> Integer
size(String|List) -> Integer
split(String, String|List) -> List
*stdev *stdevp(Float) -> Float
substring(String, Integer, Integer?) -> String
tail(List) -> List
time time.realtime time.statement time.transaction(Any?) -> Time
time.truncate(String, Any?, Map|Node|Relationship?) -> Time
toboolean(Boolean|Integer|String) -> Boolean
tobooleanornull(Any) -> Boolean
tofloat(Float|Integer|String) -> Float
tofloatornull(Any) -> Float
tointeger(Boolean|Float|Integer|String|List) -> Integer
tointegerornull(Any) -> Integer
tostring(Writable) -> String
tostringornull(Any) -> String
tobooleanlist tofloatlist tointegerlist tostringlist(List) -> List
trim(String) -> String
type(Relationship) -> String
valuetype(Any) -> String
vector.similarity.cosine vector.similarity.euclidean(Any, Any) -> Float
vector(Any, Any, Any) -> Any
vector_distance(Any, Any, Any) -> Float
vector_norm(Any, Any) -> Float
vector_dimension_count(Any) -> Integer
"""


_WRITABLE: Final = (
    *("Boolean", "Float", "Integer", "Point", "String", "Duration"),
    *("Date", "Time", "LocalTime", "LocalDateTime", "DateTime"),
)


def changes_per_call(name: str) -> bool:
    """True if a function may return different values for equal arguments."""
    plain = name.lower()
    return plain in ("rand", "randomuuid") or plain.endswith(".realtime")


def unknown_function(name: str) -> str:
    """Why a name is no function, with the function that may be meant."""
    from difflib import get_close_matches  # imported on errors only, as it is slow

    near = get_close_matches(name.lower(), _signatures(), n=1)
    hint = f"; did you mean {near[0]}()?" if near else ""
    return f"Unknown function '{name}'{hint}"


def signature(name: str) -> Signature | None:
    """The signature of a built-in function; None for other names."""
    return _signatures().get(name.lower())


@cache
def _signatures() -> dict[str, Signature]:
    found = {}
    for line in _TABLE.strip().splitlines():
        names, _, rest = line.partition("(")
        arguments, _, result = rest.partition(") -> ")
        for name in names.split():
            plain = name.removeprefix("*")
            found[plain] = _signature(arguments, result, aggregates=plain != name)
    return found


def _signature(arguments: str, result: str, *, aggregates: bool) -> Signature:
    written = arguments.split(", ") if arguments else []
    least = sum(not each.endswith("?") for each in written)
    most = None if arguments.endswith("+") else len(written)
    types = tuple(_type(each.rstrip("?+")) for each in written)
    return Signature(types, least, most, _type(result), aggregates)


def _type(written: str) -> TypeSet:
    if written == "Any":
        return ANY
    return of(*(_WRITABLE if written == "Writable" else written.split("|")))

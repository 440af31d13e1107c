"""YARN's Capacity Scheduler: simulation to data frames, and the engine."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, NotRequired, TypedDict

__version__: str

Mode = Literal["heartbeat", "asynchronous", "global"]
Hadoop = Literal["3.4", "3.5"]
Restarts = Literal["never", "without_containers", "keeping_containers"]
# A file or a folder, or settings by full name.
Conf = str | PathLike[str] | Mapping[str, str | int | float | bool]
# Amounts in the order of the resource types, memory in MiB and vcores first, or by name.
Size = Sequence[int] | Mapping[str, int]

class CapschedError(ValueError):
    """A configuration, a trace or a call was refused; nothing of it was carried out."""

class Node(TypedDict):
    """A node of a run."""

    host: str
    size: Size
    rack: NotRequired[str]
    partition: NotRequired[str]

class Ask(TypedDict):
    """Containers of one size at one place."""

    size: Size
    count: NotRequired[int]
    place: NotRequired[str]
    priority: NotRequired[int]
    request_id: NotRequired[int]
    relax_locality: NotRequired[bool]
    partition: NotRequired[str]

class Update(TypedDict):
    """A change of one container; promotions and demotions have no size."""

    container: int
    # How often the container was changed: 0 unless given.
    version: NotRequired[int]
    change: Literal["increase", "decrease", "promote", "demote"]
    size: NotRequired[Size]

class Gang(TypedDict):
    """Containers of which the minimum is placed all at once within a time, or nothing of it."""

    size: Size
    minimum: int
    within_ms: int
    elastic: NotRequired[int]
    priority: NotRequired[int]
    request_id: NotRequired[int]
    # `rack`, or an attribute as prefix/name; anywhere unless given.
    close: NotRequired[str]
    partition: NotRequired[str]

class Table:
    """Columns that data frames take over by Arrow's stream interface."""

    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def to_polars(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def to_arrow(self) -> Any: ...

class Simulation:
    """What a run came to."""

    @property
    def jobs(self) -> Table: ...
    @property
    def decisions(self) -> Table: ...
    @property
    def queues(self) -> Table: ...
    @property
    def cluster(self) -> Table: ...
    @property
    def summary(self) -> dict[str, Any]: ...
    @property
    def hash(self) -> str: ...

def simulate(
    conf: Conf,
    trace: str | PathLike[str] | Sequence[str | PathLike[str]],
    mode: Mode = "heartbeat",
    *,
    nodes: str | PathLike[str] | Sequence[Node] | None = None,
    heartbeat_ms: int = 1000,
    round_ms: int = 5,
    until_ms: int | None = None,
    hadoop: Hadoop = "3.5",
) -> Simulation: ...

class Engine:
    """The scheduler step by step, in virtual time."""

    def __init__(
        self,
        conf: Conf,
        mode: Mode = "heartbeat",
        *,
        partitions: Sequence[tuple[str, bool]] = (),
        hand_out: Literal["reply", "event"] = "reply",
        hadoop: Hadoop = "3.5",
    ) -> None: ...
    @property
    def types(self) -> list[str]: ...
    def add_node(
        self,
        name: str,
        size: Size,
        *,
        rack: str = "/default-rack",
        partition: str = "",
        attributes: Sequence[tuple[str, str]] = (),
    ) -> None: ...
    def remove_node(self, name: str) -> None: ...
    def submit(
        self,
        app: int,
        queue: str,
        user: str,
        *,
        master: Size | None = None,
        priority: int | None = None,
        partition: str | None = None,
        tags: Sequence[str] = (),
        restarts: Restarts = "never",
    ) -> str: ...
    def ask(
        self,
        app: int,
        asks: Sequence[Ask] = (),
        *,
        release: Sequence[int] = (),
        updates: Sequence[Update] = (),
        avoid: Sequence[str] = (),
        use_again: Sequence[str] = (),
    ) -> dict[str, Any]: ...
    def ask_gang(self, app: int, gang: Gang) -> None: ...
    def ask_opportunistic(self, app: int, asks: Sequence[Ask]) -> None: ...
    def heartbeat(self, node: str) -> dict[str, list[str]]: ...
    def schedule(self) -> int: ...
    def advance(self, to_ms: int) -> None: ...
    def container_finished(self, container: str, exit_status: int = 0) -> None: ...
    def end_attempt(self, app: int) -> None: ...
    def start_attempt(self, app: int) -> int: ...
    def finish_app(self, app: int) -> None: ...
    def refresh(
        self,
        conf: Conf,
        *,
        hadoop: Hadoop = "3.5",
        partitions: Sequence[tuple[str, bool]] | None = None,
    ) -> None: ...
    def events(self) -> list[dict[str, Any]]: ...
    def events_waiting(self) -> int: ...
    def state(self) -> dict[str, Any]: ...
    def state_hash(self) -> int: ...

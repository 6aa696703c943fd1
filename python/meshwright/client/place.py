"""Where steps run: an engine of this script, or a coordinator elsewhere."""

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path

from meshwright.client.channel import Service
from meshwright.client.engine import Engine, find_program
from meshwright.errors import MeshwrightError

VIRTUAL = "cpu:8"


class _Common:
    """What the steps of a process have in common: one engine for all whose devices are
    those of this machine, one connection to each coordinator. It is closed by the last
    that gives it back."""

    def __init__(self):
        self._lock = threading.Lock()
        self._taken: dict[object, list] = {}  # By key: it, and how many have it.

    def take(self, key, make: Callable, is_usable: Callable):
        with self._lock:
            taken = self._taken.get(key)
            if taken is None or not is_usable(taken[0]):
                taken = self._taken[key] = [make(), 0]
            taken[1] += 1
            return taken[0]

    def give_back(self, key, one) -> None:
        with self._lock:
            taken = self._taken.get(key)
            if taken is not None and taken[0] is one:
                taken[1] -= 1
                if taken[1] > 0:
                    return
                del self._taken[key]
        one.close()


_common = _Common()


class Place:
    """`cluster` is what plans are for, as the service takes it; empty: what the
    coordinator was started with."""

    def __init__(
        self,
        cluster: str | Path | None,
        platform: str | None,
        token: str | None,
        tls: Mapping[str, str] | None,
        ffi: str | Iterable[str] = (),
        cache: str | Path | bool | None = None,
    ):
        text = str(cluster or _from_environment() or local_cluster())
        self.name = text
        self._is_remote = is_address(text)
        self._token, self._tls = token, tls
        self._ffi = [ffi] if isinstance(ffi, str) else list(ffi)
        if self._ffi and self._is_remote:
            raise MeshwrightError(
                f"ffi={ffi!r}: the workers of {text} have their own kernels, by "
                "meshwright worker --ffi"
            )
        self._cache = _cache_folder(cache)
        if self._cache is not None and self._is_remote:
            raise MeshwrightError(
                f"cache={cache!r}: the workers of {text} have their own, by "
                "meshwright worker --cache"
            )
        self._engine: Engine | None = None
        self._service: Service | None = None
        self.cluster = "" if self._is_remote else _cluster_text(text)
        self._platform = platform

    @cached_property
    def platform(self) -> str:
        """What jax lowers for."""
        if self._platform:
            return self._platform
        if not self._is_remote:
            return _platform_of(self.cluster)
        status = self.service.status()
        platforms = {worker["platform"] for worker in status["workers"]}
        # Before workers have come, a coordinator knows what it waits for.
        return platforms.pop() if platforms else _platform_of(status["cluster"])

    def start(self) -> None:
        """So that it is there when it is needed."""
        if not self._is_remote and self._engine is None:
            self._engine = _common.take(
                self._process,
                lambda: Engine(self._ffi, self._cache),
                lambda engine: engine.is_usable,
            )

    @property
    def _process(self) -> tuple:
        """What an engine is started with."""
        return ("engine", self._cache, *self._ffi)

    @property
    def service(self) -> Service:
        if not self._is_remote:
            self.start()
            return self._engine.service
        if self._service is None:
            address = self.name.removeprefix("grpc://")
            self._service = _common.take(
                self._connection,
                lambda: Service(address, self._token, self._tls),
                lambda service: True,
            )
        return self._service

    @property
    def _connection(self) -> tuple:
        tls = tuple(sorted((self._tls or {}).items()))
        return self.name.removeprefix("grpc://"), self._token, tls, os.getpid()

    def close(self) -> None:
        if self._engine is not None:
            _common.give_back(self._process, self._engine)
            self._engine = None
        if self._service is not None:
            _common.give_back(self._connection, self._service)
            self._service = None


def _cache_folder(cache: str | Path | bool | None) -> str | None:
    """As `meshwright serve --cache` takes it; None: its default."""
    if cache is None or cache is True:
        return None
    if cache is False:
        return "none"
    if not isinstance(cache, str | Path) or not str(cache):
        raise MeshwrightError(f"cache={cache!r} is neither a folder nor a bool")
    return str(cache) if str(cache) == "none" else str(Path(cache).absolute())


def _from_environment() -> str | None:
    names = ("MESHWRIGHT_CLUSTER", "MESHWRIGHT_COORDINATOR")
    return next(filter(None, map(os.environ.get, names)), None)


def _platform_of(cluster: str | None) -> str:
    """Of "cpu:8", a cluster file's text or "4 hosts x 8 h200, ..."; of none, cpu."""
    words = re.findall(r"[\w-]+", cluster or "cpu")
    kinds = [word for word in words if word == "cpu" or word.startswith("tpu")]
    return kinds[0][:3] if kinds else "cuda"


def is_address(cluster: str) -> bool:
    """`host-0:7777` and `grpc://h200:7777` are coordinators; `cpu:8`, `h200:64x8` and
    cluster files are not: counts of devices are below 1024, ports are not."""
    if cluster.startswith("grpc://"):
        return True
    found = re.fullmatch(r"(\[[\da-fA-F:]+\]|[^\s/:]+):(\d+)", cluster)
    if not found:
        return False
    return int(found[2]) >= 1024 or found[1] == "localhost" or "." in found[1]


def local_cluster() -> str:
    """The accelerators of this machine as `h200:8`, or else virtual devices."""
    if not any(Path("/dev").glob("nvidia[0-9]*")):
        return VIRTUAL
    words = [find_program(), "devices", "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    try:
        plugins = json.loads(done.stdout)["plugins"]
    except (ValueError, KeyError):
        return VIRTUAL
    for plugin in plugins:
        devices = plugin.get("devices") or ()
        if plugin.get("platform") in (None, "cpu") or not devices:
            continue
        # "NVIDIA A100-SXM4-80GB" is an a100.
        found = re.search(r"\b[a-z]+\d+[a-z]?\b", devices[0]["kind"].lower())
        if found:
            return f"{found[0]}:{len(devices)}"
    return VIRTUAL


def _cluster_text(text: str) -> str:
    """What is in a cluster file; other words stay."""
    is_name = not set(text) & set("\n{") and ("/" in text or text.endswith(".json"))
    path = Path(text)
    try:
        return path.read_text() if is_name or path.is_file() else text
    except OSError as error:
        raise MeshwrightError(f"cluster={text}: {error.strerror}") from error

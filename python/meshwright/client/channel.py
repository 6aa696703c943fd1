"""A connection to a coordinator: its service, as functions.

    service = Service("host-0:7777", token="...")
    plan = service.plan(module, cluster="", options={"strategy": "zero3"})
    job = service.load(module, plan)
    done, outputs = service.step(job, {"batch/x": x}, fetch={"out/1": 4})

Errors of the coordinator are raised as MeshwrightError, in its own words.
"""

import itertools
import json
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from meshwright.client import messages
from meshwright.client.apart import apart
from meshwright.client.connection import (
    read_tls,
    require_secret_token,
    why_refused,
    why_unavailable,
)
from meshwright.client.jobs import Jobs
from meshwright.client.loans import SHARED_BYTES, Loans, NoAnswer
from meshwright.client.shared_memory import SharedMemory, share_with
from meshwright.client.step_socket import StepSocket
from meshwright.errors import MeshwrightError

PROTOCOL = "1"
_MAX_MESSAGE = (4 << 20) + (64 << 10)
_CLOSE_SECONDS = 2
# Of tensors that go in one message with others.
_SMALL_BYTES = 1 << 20
# That one call to fill a state holds of shared memory, if its tensors are smaller.
_AT_ONCE_BYTES = 256 << 20
_OTHER_PROTOCOL = "the client speaks "  # What a coordinator of one says first.
_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE),
    ("grpc.max_send_message_length", _MAX_MESSAGE),
    ("grpc.enable_http_proxy", 0),
    # That a connection may take.
    ("grpc.min_reconnect_backoff_ms", 5000),
]


class Service:
    """Thread-safe; calls wait for their answers."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        tls: Mapping[str, str] | None = None,
        why_gone: Callable[[], str] | None = None,
        memory: SharedMemory | None = None,
        steps: StepSocket | None = None,
    ):
        """`tls` names files: {"ca": ..., "cert": ..., "key": ...}. `why_gone` says why
        there is no answer, where that is known. `memory` is the coordinator's, too,
        which otherwise gets some if it is on this machine; `steps` leads to it."""
        try:
            import grpc
        except ModuleNotFoundError as error:
            raise MeshwrightError(
                "a coordinator is spoken to by grpc: pip install grpcio"
            ) from error
        self.address = address
        self._memory, self._steps = memory, steps
        self._why_gone, self._tls = why_gone, tls
        self._error, self._codes = grpc.RpcError, grpc.StatusCode
        if tls:
            files = read_tls(tls)
            credentials = grpc.ssl_channel_credentials(
                files.get("ca"), files.get("key"), files.get("cert")
            )
            self._channel = grpc.secure_channel(address, credentials, _OPTIONS)
        else:
            self._channel = grpc.insecure_channel(address, _OPTIONS)
        self._metadata = [("meshwright-protocol", PROTOCOL)]
        token = token or os.environ.get("MESHWRIGHT_TOKEN")
        self._has_token = bool(token)
        if token:
            require_secret_token(address, tls)
            self._metadata.append(("authorization", f"Bearer {token}"))
        self._methods: dict[str, object] = {}
        self._share: socket.socket | None = None  # Open as long as memory is shared.
        self._is_asked = memory is not None  # Whether it can be.
        self.jobs = Jobs(self)

    def close(self) -> None:
        if self._share is not None:
            self._memory.close()
            self._share.close()
        # A second Ctrl-C may have left a lock of the channel held.
        closing = threading.Thread(target=self._channel.close, daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)

    @apart
    def plan(self, module: bytes, cluster: str, options: Mapping) -> dict:
        parts = [
            *messages.upload(messages.MODULE, module),
            *messages.upload(messages.CLUSTER, cluster.encode()),
            *messages.upload(messages.OPTIONS, json.dumps(options).encode()),
        ]
        answer = self._call("Plan", "stream_stream", iter(parts))
        return json.loads(b"".join(map(messages.read_bytes, answer)))

    @apart
    def load(self, module: bytes, plan: Mapping, beside: int | None = None) -> int:
        """`beside`: a job that stays, on the same devices."""
        self._share_memory()
        parts = [
            *messages.upload(messages.MODULE, module),
            *messages.upload(messages.PLAN, json.dumps(plan).encode()),
        ]
        if beside is not None:
            parts += messages.upload(messages.BESIDE, str(beside).encode())
        return messages.read_job(self._call("Load", "stream_unary", iter(parts)))

    @apart
    def init(
        self,
        job: int,
        tensors: Iterable[tuple[str, object]],
        module: bytes | None = None,
    ) -> None:
        """What `module` computes of the tensors, or the tensors themselves."""
        groups = [tensors] if module is not None else _groups(tensors)
        for group in groups:
            with Loans(self._memory) as loans:
                parts = messages.init_parts(job, module, group, loans)
                self._call("Init", "stream_unary", parts)

    @apart
    def feed(self, job: int, dataset: Mapping, position: int) -> None:
        """From the next step on, data come from a dataset that the workers read."""
        request = messages.feed_request(job, json.dumps(dataset), position)
        self._call("Feed", "unary_unary", request)

    def step(
        self,
        job: int,
        data: Mapping[str, object],
        count: int = 1,
        fetch: Mapping[str, int] | None = None,
        batch: int = 0,
    ) -> tuple[list[messages.StepDone], dict[str, object]]:
        """So many steps, and what is fetched after the last, by name the bytes of it
        that are expected. `batch`: what was staged under this number is data, too."""
        done, fetched, fetch = [], {}, fetch or {}
        with Loans(self._memory) as loans:
            reader = messages.TensorReader(fetched.__setitem__, loans)
            into = loans.into(fetch.items())
            begin = messages.step_begin(job, count, tuple(fetch), into, batch)
            parts = messages.tensor_parts(data.items(), loans)
            first = _first(parts, _SMALL_BYTES)
            is_all = sum(map(len, first)) <= _SMALL_BYTES
            if is_all and loans.outside(fetch) <= _SMALL_BYTES:
                request = messages.step_request(begin, first)
                reply = self._run_step(request)
                done, tensors = messages.read_steps(reply)
                for part in tensors:
                    reader.add(part)
                return done, fetched
            parts = messages.step_parts(begin, itertools.chain(first, parts))
            for reply in self._call("Step", "stream_stream", parts):
                found = messages.read_step(reply)
                if isinstance(found, messages.StepDone):
                    done.append(found)
                else:
                    reader.add(found)
        return done, fetched

    @property
    def staged_bytes(self) -> int:
        """Smaller batches go with their steps as fast as by themselves."""
        return SHARED_BYTES if self._memory is None else _SMALL_BYTES

    def stage(self, job: int, batch: int, data: Mapping[str, object]) -> None:
        """Transfers data of a later step, while others run."""
        with Loans(self._memory) as loans:
            parts = messages.stage_parts(job, batch, data.items(), loans)
            self._call("Stage", "stream_unary", parts)

    # For those whom Ctrl-C may strike within the other.
    step_apart = apart(step)

    @apart
    def fetch(self, job: int, wanted: Mapping[str, int]) -> dict[str, object]:
        """By name; `wanted` has the bytes that are expected."""
        fetched: dict[str, object] = {}
        with Loans(self._memory) as loans:
            reader = messages.TensorReader(fetched.__setitem__, loans)
            into = loans.into(wanted.items())
            request = messages.fetch_request(job, wanted, into)
            for part in self._call("Fetch", "unary_stream", request):
                reader.add(part)
        return fetched

    @apart
    def move(
        self, source: int, target: int, pairs: Sequence[tuple[str, str]], drop: bool
    ) -> None:
        """State of a job becomes parameters of one beside it, by their names; `drop`:
        the former needs it no more."""
        request = messages.move_request(source, target, pairs, drop)
        self._call("Move", "unary_unary", request)

    @apart
    def save(
        self, job: int, directory: str, step: int, keep: int, extra: Mapping, wait: bool
    ) -> None:
        """A checkpoint of the job's state; without `wait`, written while steps run."""
        text = json.dumps(extra).encode()
        request = messages.save_request(job, directory, step, keep, text, not wait)
        self._call("Save", "unary_unary", request)

    @apart
    def await_saved(self, job: int) -> None:
        """Raises what became of a checkpoint that was written meanwhile."""
        self._call("AwaitSaved", "unary_unary", messages.job_request(job))

    @apart
    def restore(self, job: int, directory: str) -> None:
        request = messages.restore_request(job, directory)
        self._call("Restore", "unary_unary", request)

    @apart
    def status(self) -> dict:
        return json.loads(messages.read_bytes(self._call("Status", "unary_unary", b"")))

    def watch(self, job: int) -> Iterator[dict]:
        """Metrics of the job's steps until it is stopped."""
        request = messages.job_request(job)
        for line in self._call("Watch", "unary_stream", request):
            yield json.loads(messages.read_bytes(line))

    @apart
    def stop(self, job: int) -> None:
        self._call("Stop", "unary_unary", messages.job_request(job))

    def _share_memory(self) -> None:
        """With a coordinator of this machine, before arrays go there."""
        if self._is_asked:
            return
        self._is_asked = True
        status = self._call("Status", "unary_unary", b"")
        shared = share_with(messages.read_memory_socket(status))
        if shared is not None:
            self._memory, self._share, key = shared
            self._metadata.append(("meshwright-memory", key))

    def _run_step(self, request: bytes) -> bytes:
        if self._steps is not None:
            reply = self._steps.run(request)
            if reply is not None:
                return reply
        return self._call("RunStep", "unary_unary", request)

    def _call(self, name: str, kind: str, request):
        method = self._methods.get(name)
        if method is None:
            # Bytes go and come as they are.
            path = f"/meshwright.proto.Jobs/{name}"
            method = self._methods[name] = getattr(self._channel, kind)(path)
        try:
            answer = method(request, metadata=self._metadata)
        except self._error as error:
            raise self._told(error) from None
        return self._read(answer) if kind.endswith("stream") else answer

    def _read(self, answer) -> Iterator[bytes]:
        try:
            yield from answer
        except self._error as error:
            raise self._told(error) from None
        finally:
            answer.cancel()

    def _told(self, error) -> MeshwrightError:
        code, codes = error.code(), self._codes
        text = " ".join((error.details() or str(code)).split())
        if code is codes.UNAUTHENTICATED:
            return NoAnswer(why_refused(self.address, self._has_token))
        if _is_answer(error):
            is_of_version = text.startswith(_OTHER_PROTOCOL)
            return MeshwrightError(f"{self.address}: {text}" if is_of_version else text)
        if code is codes.UNAVAILABLE and self._why_gone is not None:
            text = self._why_gone()
        elif code is codes.UNAVAILABLE:
            text = why_unavailable(self.address, self._tls, text)
        elif code is codes.UNIMPLEMENTED:
            text = f"{self.address} is no Meshwright coordinator, or an old one"
        return NoAnswer(text)


def _first(parts: Iterator[messages.Part], size: int) -> list[messages.Part]:
    """Those that begin within so many bytes."""
    found, total = [], 0
    for part in parts:
        found.append(part)
        total += len(part)
        if total > size:
            break
    return found


def _groups(
    tensors: Iterable[tuple[str, object]],
) -> Iterator[list[tuple[str, object]]]:
    group, size = [], 0
    for name, array in tensors:
        if group and size + array.nbytes > _AT_ONCE_BYTES:
            yield group
            group, size = [], 0
        group.append((name, array))
        size += array.nbytes
    if group:
        yield group


def _is_answer(error) -> bool:
    """Whether it is the coordinator's word, not that of gRPC itself."""
    mark = ("grpc-status-details-bin", b"meshwright")
    return mark in map(tuple, error.trailing_metadata() or ())

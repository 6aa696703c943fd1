"""Starts workers on the hosts of a Ray cluster; run by `meshwright launch --ray`.

    python -m meshwright.launch_ray --address auto --workers 4 --gpus 8 \\
        -- meshwright worker --join 10.0.0.1:7777

One actor on each of four hosts runs the command after `--`, with `--rank I` appended.
The command's process ends with its actor, and the actor ends with this program. The
output of workers is printed on stderr as `[worker 2] ...`. The exit code is the worst
of the workers' exit codes, 128 + N for one that signal N killed; 3 if a host is lost; 2
for a mistake of the user, reported in one line.

Hosts need the package `ray` and the program that is run, not this package.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_GRACE_S = 10.0  # Time between SIGTERM and SIGKILL.
_LOST = 3


class Mistake(Exception):
    """An error that the user can fix; shown as one line, exit code 2."""


class Process:
    """A worker's process, on the host of its actor."""

    def __init__(self, argv: list[str], environment: dict[str, str]):
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._over = False
        try:
            self._process = subprocess.Popen(
                argv,
                env=_environment(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        except OSError as error:
            reason = error.strerror or "cannot be run"
            self._process, self._lines = None, [f"{argv[0]}: {reason}"]
            return
        threading.Thread(target=self._read, daemon=True).start()

    def poll(self, seconds: float) -> tuple[list[str], int | None]:
        """Lines printed since the last call, waiting up to `seconds`; the exit code
        once it has ended.

        Negative codes are signals, as in subprocess.
        """
        if self._process is None:
            return self._lines, 127
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._over, seconds)
            lines, self._lines = self._lines, []
            over = self._over
        return lines, self._process.wait() if over else None

    def stop(self) -> None:
        """Ends the process and its children."""
        if self._process is None:
            return
        self._signal(signal.SIGTERM)
        with self._changed:
            ended = self._changed.wait_for(lambda: self._over, _GRACE_S)
        if not ended:
            self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def _read(self) -> None:
        for line in self._process.stdout:
            with self._changed:
                self._lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._over = True
            self._changed.notify_all()


def _end_with_parent() -> None:
    """Runs in the child: asks the kernel to kill it when the actor's process ends."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _environment(added: dict[str, str]) -> dict[str, str]:
    """The actor's environment, so that the worker finds the same packages, including
    XLA plug-ins."""
    here = {} if sys.prefix == sys.base_prefix else {"VIRTUAL_ENV": sys.prefix}
    return {**here, **os.environ, **added}


def main(words: list[str]) -> int:
    options = _parse(words)
    received = []

    def interrupt(number, _) -> None:
        received.append(number)
        raise KeyboardInterrupt  # The only exception of a handler that Ray passes on.

    try:
        ray = _connect(options.address)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, interrupt)
        group = _reserve(ray, options)
        return _run(ray, group, options)
    except Mistake as mistake:
        print(f"meshwright: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 128 + (received or [signal.SIGINT])[0]


def _parse(words: list[str]) -> argparse.Namespace:
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(prog="launch_ray", allow_abbrev=False)
    parser.add_argument("--address", default="auto", help="of the Ray cluster")
    parser.add_argument("--workers", type=int, required=True, help="one per host")
    parser.add_argument("--gpus", type=int, default=0, help="of each host")
    parser.add_argument("--cpus", type=float, default=1, help="of each host")
    parser.add_argument("--wait", type=float, default=60, help="seconds for hosts")
    parser.add_argument("--env", action="append", default=[], help="NAME=VALUE")
    options = parser.parse_args(words[:cut])
    options.command = words[cut + 1 :]
    if not options.command:
        parser.error("no command after --")
    if options.workers < 1:
        parser.error("--workers must be at least 1")
    return options


def _connect(address: str):
    try:
        import ray
    except ImportError:
        raise Mistake(
            f"--ray needs the Python package ray: {sys.executable} -m pip install ray"
        ) from None
    try:
        _knock(address)
        ray.init(address=address, logging_level="ERROR", log_to_driver=False)
    except Exception as error:  # Ray raises many kinds.
        raise Mistake(f"no Ray cluster at '{address}': {_first_line(error)}") from None
    return ray


def _knock(address: str) -> None:
    """Fails quickly if nobody listens there; Ray itself would retry for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), 10).close()


def _reserve(ray, options: argparse.Namespace):
    """A placement group of one bundle per host."""
    need = {"CPU": options.cpus, "GPU": options.gpus}
    bundle = {name: amount for name, amount in need.items() if amount}
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    fit = [node for node in nodes if _fits(bundle, node)]
    asked = " and ".join(f"{amount:g} {name}" for name, amount in bundle.items())
    if len(fit) < options.workers:
        raise Mistake(
            f"{options.workers} workers need as many hosts with {asked} each; "
            f"the Ray cluster has {len(fit)} of them among its {len(nodes)}"
        )
    group = ray.util.placement_group([bundle] * options.workers, "STRICT_SPREAD")
    ready, _ = ray.wait([group.ready()], timeout=options.wait)
    if not ready:
        raise Mistake(
            f"the Ray cluster's hosts are busy: {options.workers} with {asked} each "
            f"were not free within {options.wait:g} s"
        )
    return group


def _fits(bundle: dict[str, float], resources: dict[str, float]) -> bool:
    return all(resources.get(name, 0) >= amount for name, amount in bundle.items())


def _run(ray, group, options: argparse.Namespace) -> int:
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    actor = ray.remote(num_cpus=options.cpus, num_gpus=options.gpus)(Process)
    environment = dict(pair.split("=", 1) for pair in options.env)
    actors = []
    for rank in range(options.workers):
        place = PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=rank
        )
        argv = [*options.command, "--rank", str(rank)]
        placed = actor.options(scheduling_strategy=place)
        actors.append(placed.remote(argv, environment))
    try:
        return max(_follow(ray, actors, _hosts(ray, group)))
    except BaseException:
        _stop(ray, actors)
        raise
    finally:
        ray.shutdown()


def _hosts(ray, group) -> list[str]:
    """The host of each worker."""
    addresses = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes()}
    places = ray.util.placement_group_table(group)["bundles_to_node_id"]
    return [addresses.get(places[rank], "?") for rank in sorted(places)]


def _follow(ray, actors: list, hosts: list[str]) -> list[int]:
    """Prints the workers' output until all have ended; returns their exit codes."""
    asked = {actor.poll.remote(1.0): rank for rank, actor in enumerate(actors)}
    codes = []
    while asked:
        [answer], _ = ray.wait(list(asked), num_returns=1)
        rank = asked.pop(answer)
        try:
            lines, code = ray.get(answer)
            ending = _in_words(code)
        except ray.exceptions.RayError as error:
            lines, code, ending = [], _LOST, f"lost: {_first_line(error)}"
        for line in lines:
            print(f"[worker {rank}] {line}", file=sys.stderr, flush=True)
        if code is None:
            asked[actors[rank].poll.remote(1.0)] = rank
            continue
        codes.append(128 - code if code < 0 else code)
        if code != 0:
            print(
                f"meshwright: worker {rank} on {hosts[rank]}: {ending}",
                file=sys.stderr,
                flush=True,
            )
    return codes


def _first_line(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _in_words(code: int | None) -> str:
    if code is None:
        return "still runs"
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def _stop(ray, actors: list) -> None:
    """Ends actors that still run; those that are gone have ended their workers."""
    stopping = [actor.stop.remote() for actor in actors]
    deadline = time.monotonic() + _GRACE_S + 5
    while stopping and time.monotonic() < deadline:
        _, stopping = ray.wait(stopping, timeout=1.0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""An HTTP endpoint with the last step's metrics, for Prometheus.

A coordinator that outlives the script has its own endpoint, with the same names:
`meshwright serve --metrics-port`.
"""

import threading

from meshwright.errors import MeshwrightError
from meshwright.metrics.sink import Record, Sink

# By name in records: the coordinator's names and descriptions.
_GAUGES = {
    "seconds": ("meshwright_step_seconds", "Duration of the last step."),
    "loss": ("meshwright_loss", "Loss of the last step."),
    "tokens_per_second": (
        "meshwright_tokens_per_second",
        "Tokens per second in the last step.",
    ),
    "samples_per_second": (
        "meshwright_samples_per_second",
        "Samples per second in the last step.",
    ),
    "tflops": (
        "meshwright_tflops",
        "Counted 10^12 floating-point operations per second in the last step.",
    ),
    "mfu": (
        "meshwright_mfu",
        "Model FLOPs utilisation: part of the devices' peak in the last step.",
    ),
    "bubble": (
        "meshwright_bubble",
        "Part of the pipeline's time without work in the last step.",
    ),
    "communication_seconds": (
        "meshwright_communication_seconds",
        "Longest time a worker waited for others in the last step.",
    ),
    "communication_bytes": (
        "meshwright_communication_bytes",
        "Bytes between workers in the last step.",
    ),
    "memory_bytes": (
        "meshwright_memory_bytes",
        "Bytes that programs take on a device.",
    ),
    "interval_seconds": (
        "meshwright_interval_seconds",
        "From the end of the step before to the end of the last.",
    ),
}
_SCALAR = ("meshwright_metric", "A scalar that the step returns, by its name.")


class Prometheus(Sink):
    """`GET http://127.0.0.1:PORT/metrics`; port 0 chooses a free one, see `port`."""

    def __init__(self, port: int = 9464, host: str = "127.0.0.1"):
        from http.server import ThreadingHTTPServer  # Slow to import.

        self.last: Record = {}
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(self))
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise MeshwrightError(f"Prometheus on {host}:{port}: {why}") from error
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __repr__(self) -> str:
        return f"Prometheus(port={self.port})"

    def write(self, record: Record) -> None:
        self.last = dict(record)

    def close(self) -> None:
        """The last metrics stay available until the script ends."""


def exposition(record: Record) -> str:
    """A record in the text exposition format of Prometheus."""
    lines = []

    def add(name: str, help_text: str, kind: str, values: dict[str, object]) -> None:
        lines.append(f"# HELP {name} {help_text}")
        lines.append(f"# TYPE {name} {kind}")
        lines.extend(f"{name}{labels} {value}" for labels, value in values.items())

    if "step" in record:
        steps = {"": record["step"]}
        add("meshwright_steps_total", "Steps completed.", "counter", steps)
    for key, (name, help_text) in _GAUGES.items():
        if record.get(key) is not None:
            add(name, help_text, "gauge", {"": _text(record[key])})
    scalars = {
        f'{{name="{_escaped(name)}"}}': _text(value)
        for name, value in record.items()
        if name not in _GAUGES and name not in ("step", "time") and value is not None
    }
    if scalars:
        add(*_SCALAR, "gauge", scalars)
    return "".join(f"{line}\n" for line in lines)


def _text(value: float) -> str:
    text = repr(float(value))
    return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}.get(text, text)


def _escaped(name: str) -> str:
    return name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _handler(sink: Prometheus):
    from http.server import BaseHTTPRequestHandler

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            found = self.path.split("?")[0] == "/metrics"
            body = exposition(sink.last).encode() if found else b"see /metrics\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Requests are not logged."""

    return Handler

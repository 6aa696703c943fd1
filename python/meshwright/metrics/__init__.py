"""Sinks for the metrics of training steps.

    step = meshwright.parallelize(
        train_step,
        log_every=10,  # A line on stdout for every tenth step.
        sinks=[
            meshwright.metrics.JsonLines("run/metrics.jsonl"),
            meshwright.metrics.TensorBoard("run"),
            meshwright.metrics.Prometheus(port=9464),
            meshwright.metrics.Plot("run/loss.svg"),
            wandb.log,  # Any function of a record.
        ],
    )

A record is a dictionary of a step's metrics; unknown ones are None:

    step, time                              steps so far; seconds since 1970
    loss, seconds                           of the step, on the devices
    interval_seconds                        since the previous step, with data loading
    tokens_per_second | samples_per_second, tflops, mfu, bubble,
    communication_seconds, communication_bytes, memory_bytes
                                            as `meshwright serve --metrics`
    accuracy, ...                           scalars that the step returns

A separate thread writes to the sinks. If a sink fails, a warning reports it once, and
training continues.
"""

from meshwright.metrics.json_lines import JsonLines
from meshwright.metrics.lines import Lines
from meshwright.metrics.plot import Plot
from meshwright.metrics.prometheus import Prometheus
from meshwright.metrics.sink import Record, Sink
from meshwright.metrics.tensorboard import TensorBoard

__all__ = [
    "JsonLines",
    "Lines",
    "Plot",
    "Prometheus",
    "Record",
    "Sink",
    "TensorBoard",
]

"""Sinks, one by one, and what brings records to them."""

import importlib
import io
import json
import math
import threading
import time
import urllib.error
import urllib.request
import warnings
import xml.etree.ElementTree
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest

import meshwright
from meshwright import metrics
from meshwright.client.messages import StepDone
from meshwright.lowered_module import Output
from meshwright.metrics.recorder import Recorder
from meshwright.metrics.scalars import scalar_names
from meshwright.metrics.sink import as_sinks
from meshwright.metrics.tensorboard import crc32c

pytestmark = pytest.mark.one_jax

OLDEST = Path(__file__).resolve().parents[2] / "python/requirements-jax-old.txt"
RECORD = {
    "step": 3,
    "time": 1700000000.5,
    "loss": 2.5,
    "seconds": 0.25,
    "interval_seconds": None,
    "tokens_per_second": 4000.0,
    "mfu": 0.125,
    "accuracy": 0.5,
}


def pinned(name: str):
    """A module of the tests' packages, without which they fail; those of the oldest
    JAX are fewer."""
    if f"jax=={jax.__version__}\n" in OLDEST.read_text():
        return pytest.importorskip(name)
    return importlib.import_module(name)


def record(step: int, **changes) -> dict:
    return {**RECORD, "step": step, **changes}


def test_json_lines_are_appended_and_are_json(tmp_path):
    path = tmp_path / "run" / "metrics.jsonl"
    sink = metrics.JsonLines(path)
    sink.write(record(1))
    sink.close()
    sink.write(record(2, loss=math.nan, accuracy=math.inf))  # Opens it again.
    sink.close()
    first, second = map(json.loads, path.read_text().splitlines())
    assert first == record(1)
    assert second == record(2, loss=None, accuracy=None)


def test_event_files_are_read_by_tensorboard(tmp_path):
    reader = pinned("tensorboard.backend.event_processing.event_accumulator")
    sink = metrics.TensorBoard(tmp_path)
    losses = [2.5, math.nan, 1e300, -0.0]
    for step, loss in enumerate(losses, 1):
        sink.write(record(step, loss=loss))
        sink.flush()  # Readable while training goes on.
    found = reader.EventAccumulator(str(tmp_path))
    found.Reload()
    assert set(found.Tags()["scalars"]) == {
        *("loss", "seconds", "tokens_per_second", "mfu", "accuracy")
    }
    events = found.Scalars("loss")
    assert [event.step for event in events] == [1, 2, 3, 4]
    assert [str(event.value) for event in events] == ["2.5", "nan", "inf", "-0.0"]
    assert {event.wall_time for event in events} == {RECORD["time"]}
    sink.close()


def test_two_runs_in_one_folder_are_two_event_files(tmp_path):
    for _ in range(2):
        sink = metrics.TensorBoard(tmp_path)
        sink.write(RECORD)
        sink.close()
    assert len(list(tmp_path.glob("events.out.tfevents.*"))) == 2


def test_sums_are_those_of_rfc_3720():
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytes(range(32))) == 0x46DD794E


def test_lines_tell_the_last_loss_and_mean_rates():
    stream = io.StringIO()
    sink = metrics.Lines(every=2, file=stream)
    sink.write(record(1, seconds=0.1, tokens_per_second=10_000.0, loss=9.0))
    assert stream.getvalue() == ""
    sink.write(record(2, seconds=0.3, tokens_per_second=2_000.0, mfu=0.025))
    sink.write(record(3))
    sink.close()  # Tells what is left.
    assert stream.getvalue().splitlines() == [
        "step 2: loss 2.5, 4,000 tokens/s, accuracy 0.5, MFU 5 %, 200 ms a step",
        "step 3: loss 2.5, 4,000 tokens/s, accuracy 0.5, MFU 12.5 %, 250 ms a step",
    ]


def test_lines_of_little_that_is_known():
    stream = io.StringIO()
    metrics.Lines(1, stream).write({"step": 1, "loss": None, "seconds": 0.5})
    assert stream.getvalue() == "step 1: 500 ms a step\n"


def test_prometheus_is_answered():
    sink = metrics.Prometheus(port=0)
    address = f"http://127.0.0.1:{sink.port}"

    def ask() -> str:
        return urllib.request.urlopen(f"{address}/metrics").read().decode()

    assert ask() == ""
    sink.write(record(7, loss=math.nan, **{'odd "name"\n': 1.0}))
    text = ask()
    parser = pinned("prometheus_client.parser")
    samples = {
        (sample.name, sample.labels.get("name")): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert math.isnan(samples.pop(("meshwright_loss", None)))
    assert samples == {
        ("meshwright_steps_total", None): 7,
        ("meshwright_step_seconds", None): 0.25,
        ("meshwright_tokens_per_second", None): 4000,
        ("meshwright_mfu", None): 0.125,
        ("meshwright_metric", "accuracy"): 0.5,
        ("meshwright_metric", 'odd "name"\n'): 1,
    }
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{address}/other")
    with pytest.raises(meshwright.MeshwrightError, match=f"{sink.port}: .*in use"):
        metrics.Prometheus(port=sink.port)


def _drawn(path) -> list[str]:
    """The titles of the panels, and how many lines each has."""
    root = xml.etree.ElementTree.parse(path).getroot()
    name = "{http://www.w3.org/2000/svg}"
    titles = []
    for panel in root.findall(f"{name}g"):
        lines = panel.findall(f"{name}path[@stroke-width='1.5']")
        points = [line.get("d").count("L") for line in lines]
        titles.append((panel.find(f"{name}text").text, points))
    return titles


def test_plots_are_svg(tmp_path):
    sink = metrics.Plot(tmp_path / "loss.svg")
    assert not list(tmp_path.iterdir())
    for step in range(1, 11):
        sink.write(record(step, loss=math.nan if step == 4 else 1 / step))
    sink.close()
    assert _drawn(sink.path) == [("loss", [3, 6]), ("tokens/s", [10])]


def test_plots_of_one_step_without_a_loss(tmp_path):
    sink = metrics.Plot(tmp_path / "loss.svg")
    sink.write({"step": 1, "loss": None, "seconds": 0.5})
    sink.close()
    assert _drawn(sink.path) == [("steps/s", [1])]


def test_plots_of_long_runs_have_means(tmp_path):
    sink = metrics.Plot(tmp_path / "loss.svg")
    for step in range(1, 10_001):
        sink.write(record(step, loss=float(step)))
    sink.close()
    points = 10_000 // 8  # 2,000 at most: means of eight.
    assert _drawn(sink.path) == [("loss", [points]), ("tokens/s", [points])]


@pytest.mark.parametrize("losses", [[3.0, 2.0, 1.5], [2.0], [1.0, math.nan, 2.0]])
def test_plots_are_png(tmp_path, losses):
    image = pinned("matplotlib.image")
    sink = metrics.Plot(tmp_path / "loss.png")
    for step, loss in enumerate(losses, 1):
        sink.write(record(step, loss=loss))
    sink.close()
    picture = image.imread(sink.path)
    assert picture.shape[:2] == (624, 864)
    for panel in picture[:312], picture[312:]:
        red, _, blue = (panel[..., i] for i in range(3))
        assert (blue - red > 0.3).sum() >= 9  # Of the curve, or its points.


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda d: metrics.Plot(d / "loss.gif"), r"an \.svg or a \.png"),
        (lambda d: metrics.Plot(d / "file" / "a.svg"), "file: File exists"),
        (lambda d: metrics.JsonLines(d / "file" / "m.jsonl"), "file: File exists"),
        (lambda d: metrics.JsonLines(d), "Is a directory"),
        (lambda d: metrics.TensorBoard(d / "file"), "File exists"),
        (lambda d: metrics.Prometheus(port=123456), "123456: "),
        (lambda d: metrics.Lines(every=0), "log_every=0"),
        (lambda d: metrics.Lines(every="no"), "log_every='no'"),
        (lambda d: as_sinks(["run"]), "sinks has 'run'"),
        (lambda d: as_sinks([metrics.JsonLines]), "sinks has <class"),
    ],
)
def test_what_cannot_be_written_is_refused_before_training(make, want, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(meshwright.MeshwrightError, match=want):
        make(tmp_path)


def test_pngs_need_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(meshwright.MeshwrightError, match="needs matplotlib"):
        metrics.Plot(tmp_path / "loss.png")


class Service:
    """Watch, as it is answered here: lines of any steps, at any time."""

    def __init__(self, lines=(), error=None):
        self._lines, self._error, self.go = lines, error, threading.Event()

    def watch(self, job):
        self.go.wait(5)
        yield from self._lines
        if self._error:
            raise self._error


class Kept(metrics.Sink):
    def __init__(self):
        self.records, self.closed = [], 0

    def write(self, record):
        self.records.append(record)

    def close(self):
        self.closed += 1


def line(step: int, **figures) -> dict:
    return {"job": 1, "step": step, "loss": None, "seconds": 9.0, **figures}


def done(step: int, loss: float | None = 1.5) -> list[StepDone]:
    return [StepDone(step, 0.5, loss)]


def test_records_join_answers_and_watched_figures():
    kept = Kept()
    recorder = Recorder([kept])
    # Of step 1 the line is lost.
    lines = [line(0, mfu=0.1), {"job": 1, "dropped": 1}, line(2, mfu=0.3)]
    service = Service(lines)
    for step in range(3):
        scalars = {"accuracy": step / 2, "mfu": 7.0}
        recorder.add(service, 1, done(step), scalars, step + 1)
    service.go.set()
    recorder.close()
    found = [
        {k: v for k, v in one.items() if k not in ("time", "interval_seconds")}
        for one in kept.records
    ]
    same = {"loss": 1.5, "seconds": 0.5}
    assert found == [
        {"step": 1, **same, "mfu": 0.1, "accuracy": 0.0, "user/mfu": 7.0},
        {"step": 2, **same, "accuracy": 0.5, "mfu": 7.0},
        {"step": 3, **same, "mfu": 0.3, "accuracy": 1.0, "user/mfu": 7.0},
    ]
    assert kept.closed == 1
    intervals = [one["interval_seconds"] for one in kept.records]
    assert intervals[0] is None
    assert min(intervals[1:]) >= 0


def test_records_do_without_a_watch():
    kept = Kept()
    recorder = Recorder([kept])
    service = Service(error=meshwright.MeshwrightError("gone"))
    service.go.set()
    recorder.add(service, 1, done(0, loss=None), {"loss": 4.0}, 1)
    recorder.close()
    recorder.close()
    assert [one["loss"] for one in kept.records] == [4.0]
    # And again, in another job.
    recorder.add(service, 2, [*done(0), *done(1)], {}, 3)
    recorder.close()
    assert [one["step"] for one in kept.records] == [1, 2, 3]
    assert kept.closed == 2


def test_a_sink_that_fails_is_told_of_once(tmp_path):
    kept = Kept()

    def failing(record):
        raise OSError(28, "No space left on device")

    recorder = Recorder(as_sinks([failing, kept]))
    service = Service()
    service.go.set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(5):
            recorder.add(service, 1, done(step), {}, step + 1)
        recorder.close()
    assert len(kept.records) == 5
    (told,) = [str(one.message) for one in caught]
    assert told.endswith("failing failed: OSError: [Errno 28] No space left on device")


def test_a_sink_that_fails_ends_nothing_where_warnings_are_errors():
    kept = Kept()
    recorder = Recorder(as_sinks([lambda record: 1 / 0, kept]))
    service = Service()
    service.go.set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recorder.add(service, 1, done(0), {}, 1)
        recorder.close()
    assert len(kept.records) == 1


def test_a_slow_sink_does_not_slow_steps(monkeypatch):
    monkeypatch.setattr("meshwright.metrics.recorder._MAX_WAITING", 100)
    monkeypatch.setattr("meshwright.metrics.recorder._CLOSE_SECONDS", 0.1)
    let_go = threading.Event()
    recorder = Recorder(as_sinks([lambda record: let_go.wait(60)]))
    service = Service([line(1000)])
    service.go.set()
    steps = [StepDone(step, 0.5, 1.5) for step in range(1000)]
    start = time.monotonic()
    with pytest.warns(meshwright.MeshwrightWarning, match="records are dropped"):
        recorder.add(service, 1, steps, {}, 1000)
    recorder.close()
    assert time.monotonic() - start < 30  # One record would take 60.
    let_go.set()


def test_without_sinks_nothing_is_started():
    before = threading.active_count()
    recorder = Recorder([])
    recorder.watch(Service(), 1)
    recorder.add(Service(), 1, done(0), {}, 1)
    assert threading.active_count() == before
    recorder.close()


def test_names_of_scalars():
    outputs = [
        Output(name, shape, dtype, key)
        for name, shape, dtype, key in [
            ("out/1/loss", (), "f32", ""),
            ("out/1/total", (), "f32", ""),  # The loss.
            ("out/1/norm/grad", (), "bf16", ""),
            ("out/2", (), "s32", ""),
            ("out/3/logits", (4,), "f32", ""),
            ("out/4/z", (), "c64", ""),
            ("out/5/key", (), "u32", "threefry2x32"),
            ("out/6/x", (), "f32", ""),
            ("out/7/x", (), "f32", ""),
            ("out/8/not_fetched", (), "f32", ""),
            ("out", (), "f32", ""),
        ]
    ]
    module = SimpleNamespace(outputs=outputs, loss=1)
    assert scalar_names(module, [0, 1, 2, 3, 4, 5, 6, 7, 8, 10]) == {
        "out/1/loss": "loss",
        "out/1/norm/grad": "norm/grad",
        "out/2": "out/2",
        "out/6/x": "out/6/x",
        "out/7/x": "out/7/x",
        "out": "out",
    }

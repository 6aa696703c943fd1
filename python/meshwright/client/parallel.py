"""`parallelize`: a training step for one device, run on a cluster."""

import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from meshwright.arrays import Arrays, Held
from meshwright.batch_argument import Batch
from meshwright.client.batches import arguments_of, call_of, is_source, run_each
from meshwright.client.call_form import CallForm, form_of, next_leaves
from meshwright.client.checkpoints import Saving
from meshwright.client.form_key import key_of
from meshwright.client.host_arrays import host_array
from meshwright.client.initial_state import InitialState, require_arrays
from meshwright.client.interrupts import Interrupts
from meshwright.client.loaded_step import LoadedStep
from meshwright.client.messages import StepDone
from meshwright.client.options import plan_options
from meshwright.client.place import Place
from meshwright.client.prefetch import Prefetch
from meshwright.client.program import explain
from meshwright.client.progress import Progress
from meshwright.client.saved_state import SavedState, newest
from meshwright.client.seeds import default_implementation, keys_of
from meshwright.client.state import Form, HostArrays, State, Store
from meshwright.client.static_arguments import StaticArguments
from meshwright.data import Dataset
from meshwright.errors import MeshwrightError, warn
from meshwright.frameworks import is_nnx_object
from meshwright.lowered_module import LoweredModule
from meshwright.lowering import require_jax
from meshwright.metrics.lines import Lines
from meshwright.metrics.recorder import Recorder
from meshwright.metrics.sink import as_sinks
from meshwright.plan_file import Plan
from meshwright.rules import Rules, rules_text
from meshwright.tracing import function_name

_SECONDS_AT_ONCE = 1.0
_MOST_LOADED = 16  # Forms of calls that stay compiled.


def parallelize(
    fn: Callable,
    *,
    cluster: str | Path | None = None,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    state=None,
    loss: int | str | None = None,
    batch: Batch = None,
    rules: Rules = None,
    platform: str | None = None,
    token: str | None = None,
    tls: Mapping[str, str] | None = None,
    progress: bool | None = None,
    log_every: int | None = None,
    sinks: Iterable = (),
    ffi: str | Iterable[str] = (),
    cache: str | Path | bool | None = None,
    **plan,
) -> "ParallelStep":
    """`fn`, planned for a cluster and run on it; called as `fn` is.

        step = meshwright.parallelize(train_step, cluster="cpu:8")
        state = step.init(init_fn, key)
        for batch in batches:
            state, metrics = step(state, batch)

    Args:
      fn: a function that `jax.jit` takes, plain or jitted, also of nnx and equinox.
      cluster: "cpu:8" for virtual devices, "h200:8" or a cluster file for those of
        this machine, "host:port" for the cluster of a coordinator (`meshwright
        serve`). Default: $MESHWRIGHT_CLUSTER or $MESHWRIGHT_COORDINATOR, or else the
        accelerators of this machine, or else 8 virtual devices.
      static_argnums, static_argnames: as of `jax.jit`; those of a `fn` that is jitted
        are known. Each of their values is a plan of its own.
      state, loss, batch, rules: as of `meshwright.lower`.
      platform: what jax lowers for: "cpu", "cuda", "tpu". Default: by the cluster.
      token, tls: of the coordinator; `tls` is {"ca": file, "cert": file, "key": file}.
      progress: whether planning and compiling are shown on stderr. Default: at a
        terminal or in a notebook.
      log_every: a line on stdout for every so many steps: loss, tokens/s, MFU.
      sinks: where the figures of steps go, see `meshwright.metrics`.
      ffi: libraries with the kernels of custom calls, "kernels.so:norm=RmsNorm" for
        what `jax.ffi.register_ffi_target("norm", ...)` is for jax. Workers of a
        coordinator are given theirs when they start.
      cache: the folder in which compiled programs are kept, so that the next start
        of a script need not compile them; False: nowhere. Default:
        ~/.cache/meshwright/programs, as with workers.
      plan: as `meshwright plan --help`: strategy, mesh ({"data": 4, "model": 2}),
        micro_batches, stages, schedule, recompute, memory (GB on a device), forbid,
        batch_axis, pins (a sharding file, or what is in it), assumed (True: no
        calibrated rates), require_rules (True: no operation without a sharding
        rule), time_limit, steps (of the run, default 1000: planning takes no longer
        than it may gain over them), seed.

    Annotations (`jax.lax.with_sharding_constraint`) in `fn` are kept by the plan.
    Raises MeshwrightError, in one line, for anything wrong with the call.
    """
    require_jax()
    if not callable(fn):
        raise MeshwrightError(f"parallelize takes a function, not {fn!r}")
    return ParallelStep(
        fn,
        Place(cluster, platform, token, tls, ffi, cache),
        plan_options(plan),
        {"loss": loss, "batch": batch, "state": state, "rules": rules_text(rules)},
        StaticArguments(fn, static_argnums, static_argnames),
        Progress(progress),
        Recorder(as_sinks(sinks) + ([] if log_every is None else [Lines(log_every)])),
    )


class ParallelStep:
    """A step on a cluster; made by `parallelize`.

    Arguments of other shapes or dtypes are another plan, and a job of their own. Jobs
    stay loaded beside each other; a state moves to the job of the call it is given to.
    """

    def __init__(self, fn, place: Place, options, lowering, static, progress, recorder):
        self._fn, self._place, self._options = fn, place, options
        self._lowering, self._static, self._progress = lowering, static, progress
        self._recorder = recorder
        self._forms: dict[object, CallForm] = {}
        self._plans: dict[bytes, Plan] = {}  # By module.
        # By form, the one of the last call last.
        self._loaded: dict[CallForm, LoadedStep] = {}
        self._trained: CallForm | None = None  # The last with a state that came back.
        self._last_form: CallForm | None = None
        self._first: State | None = None  # Of its arrays nothing is known.
        self._done: list[StepDone] = []
        self._prefetches: weakref.WeakSet[Prefetch] = weakref.WeakSet()
        self._saving: Saving | None = None
        self._interrupts = Interrupts()
        self._rng: dict = {}  # With which the state began.
        self.steps = 0  # That the state has been through.
        self.__name__ = function_name(fn)
        self.__doc__ = fn.__doc__

    def __repr__(self) -> str:
        return f"<meshwright step {self.__name__} on {self._place.name}>"

    def init(self, init_fn: Callable, *args) -> State:
        """The state `init_fn(*args)`, computed where it lives, once it is needed."""
        if not callable(init_fn):
            raise MeshwrightError(
                f"init takes a function, not {type(init_fn).__name__}: arrays are "
                "handed over by put"
            )
        self._place.start()
        require_arrays(args, "init's arguments")
        initial = InitialState(init_fn, args)
        self._rng = {
            "impl": default_implementation(),
            "init": {
                **self._rng.get("init", {}),
                function_name(init_fn): keys_of(args),
            },
        }
        form = initial.form()
        return self._remember(State(Store(initial, form), form, 0))

    def put(self, value) -> State:
        """Arrays of this process as a state: a tree of them, a model or several."""
        import jax

        require_arrays(value, "the state")
        leaves = jax.tree_util.tree_leaves(Arrays.of_state(value)[1])
        arrays = dict(enumerate(map(host_array, leaves)))
        form = Form.of(value)
        return self._remember(State(Store(HostArrays(arrays), form), form, 0))

    def __call__(self, /, *args, **kwargs):
        """As the function, with a State for each state in the result. A dataset
        (`meshwright.data`) stands for its next batch, which the workers read; any
        other iterator for the next that it gives."""
        return self.many(1, *args, **kwargs)

    def many(self, count: int, /, *args, **kwargs):
        """So many steps in one call, which gives the result of the last; a dataset, or
        an iterator of batches, gives each its own. Batches of an iterator are drawn
        by a thread, and transferred, while steps run. `losses` are of all of them."""
        if count < 1:
            raise MeshwrightError(f"{count} steps cannot be run")
        if any(map(is_source, (*args, *kwargs.values()))):
            return self._many_of(count, args, kwargs)
        form, leaves = self._form(args, kwargs)
        if len(form.fed) > 1:
            raise MeshwrightError("a step takes the batches of one dataset, not of two")
        loaded, self._done = self._load(form), []
        if any(state.comes_back for state in form.states):
            self._trained = form
        while True:
            now = count - len(self._done)
            if self._saving is not None:
                now = self._saving.most_steps(self.steps, now)
            with self._interrupts:
                result = self._run(loaded, leaves, min(now, self._at_once()))
            if self._interrupts.came:
                self._interrupted(leaves)
            if len(self._done) == count:
                return result
            leaves = next_leaves(form, leaves, result)

    def _many_of(self, count: int, args, kwargs):
        done = []

        def run(arguments):
            self._done = []
            args, kwargs = call_of(arguments)
            try:
                return self.many(1, *args, **kwargs), self._last_form
            finally:
                done.extend(self._done)

        try:
            return run_each(count, arguments_of(args, kwargs), self.prefetch, run)
        finally:
            self._done = done

    def prefetch(self, batches: Iterable, size: int = 2) -> Prefetch:
        """The batches, drawn by a thread and transferred while steps run:

            for batch in step.prefetch(batches):
                state, metrics = step(state, batch)

        Their NumPy arrays are read-only copies. Up to `size` batches wait, on the
        devices if they are large.
        """
        made = Prefetch(batches, size)
        self._prefetches.add(made)
        return made

    def _run(self, loaded: LoadedStep, leaves: list, count: int):
        result = loaded(leaves, count, self._interrupts.is_waiting, self._prefetches)
        self.steps += count
        self._done += loaded.done
        self._recorder.add(
            self._place.service, loaded.number, loaded.done, loaded.scalars, self.steps
        )
        if self._saving is not None and self._saving.is_due(self.steps):
            self._save_by_itself(in_background=True)
        return result

    def _at_once(self) -> int:
        """Steps that take about as long as one waits for Ctrl-C."""
        if not self._done:
            return 1
        return max(1, int(_SECONDS_AT_ONCE / max(self._done[-1].seconds, 1e-4)))

    def _interrupted(self, leaves: list) -> None:
        """The states that were given stand for what the steps have made of them."""
        for leaf in leaves:
            if isinstance(leaf, State):
                leaf.renew()
        self._save_at_interrupt()
        raise KeyboardInterrupt

    def _save_at_interrupt(self) -> None:
        if self._saving is not None and self._saving.on_interrupt and self._trained:
            self._save_by_itself(in_background=False)

    @property
    def losses(self) -> list[float | None]:
        """Of the steps of the last call."""
        return [one.loss for one in self._done]

    @property
    def seconds(self) -> float:
        """That the devices were at the steps of the last call."""
        return sum(one.seconds for one in self._done)

    def save(self, directory: str | Path, *, keep: int = 0, wait: bool = True) -> None:
        """A checkpoint of the state as it is, DIRECTORY/step_N: tensors as safetensors,
        written by the workers that hold them, and a manifest.

        Args:
          keep: of older ones, so many stay with it; 0: all.
          wait: False: files are written while steps run; what fails is raised by the
            next save.
        """
        if self._trained is None:
            raise MeshwrightError(f"{self.__name__} has no state yet: call it first")
        loaded = self._loaded.get(self._trained)
        if loaded is None or not loaded.is_loaded:
            raise MeshwrightError(
                f"{self.__name__} is not loaded any more, as another job was not "
                "possible beside it: call it once, then save"
            )
        extra = {"plan": self._plan(self._trained).json, "rng": self._rng}
        folder = str(Path(directory).absolute())
        self._await_saved()
        loaded.save(folder, self.steps, keep, extra, wait)

    def _await_saved(self) -> None:
        for loaded in self._loaded.values():
            loaded.await_saved()

    def _save_by_itself(self, in_background: bool) -> None:
        self._saving.save(self.save, self._await_saved, in_background)

    def save_every(
        self,
        directory: str | Path,
        *,
        steps: int | None = None,
        minutes: float | None = None,
        keep: int = 3,
        on_interrupt: bool = True,
    ) -> None:
        """From now on, checkpoints in the background, and at Ctrl-C. If one fails, a
        MeshwrightWarning says so and training goes on."""
        self._saving = Saving(str(directory), steps, minutes, keep, on_interrupt)
        self._interrupts.save_with(self._save_at_interrupt)

    def restore(
        self,
        directory: str | Path,
        state: State | None = None,
        *,
        data: Dataset | None = None,
        argument: str | None = None,
    ) -> State:
        """The state of a checkpoint, or of the newest in a folder, bit by bit, whatever
        plan, number of devices or workers it was saved with.

            state = step.restore("run-1", step.init(init_fn, key), data=data)

        Args:
          state: which tree it is, nothing of it is computed. Default: that of the last
            `init` or `put`.
          data: goes on from where it was.
          argument: of the step, which the state was: needed if it took several with
            arrays of the same names, as of a generator and its critic.
        """
        state = self._first if state is None else state
        if state is None:
            raise MeshwrightError(
                "restore does not know the state's tree: give it one, "
                "step.restore(directory, step.init(init_fn, key))"
            )
        self._await_saved()
        form = state.store.form
        saved = SavedState(newest(directory), form, argument)
        self.steps, self._rng = saved.step, saved.extra.get("rng", {})
        position = saved.extra.get("data", {}).get("position")
        if data is not None and position is not None:
            data.seek(position)
        return self._remember(State(Store(saved, form), form, 0))

    def _remember(self, state: State) -> State:
        # Its tree; a store of its own, so that what it holds can go.
        self._first = State(Store(None, state.form), state.form, 0)
        return state

    def progress(self, batches: Iterable, total: int | None = None) -> Iterable:
        """The batches, with a bar at a terminal or in a notebook:

        for batch in step.progress(batches):
            state, metrics = step(state, batch)
        """
        return self._progress.over(batches, total, self._recorder)

    def prepare(self, /, *args, **kwargs) -> None:
        """Plans and compiles for these arguments, arrays or shapes; runs nothing."""
        self._load(self._form(args, kwargs)[0])

    def lower_only(self, /, *args, **kwargs) -> LoweredModule:
        """The module for these arguments, or that of the last call; nothing runs."""
        if args or kwargs:
            return self._form(args, kwargs)[0].module
        return self._require_form().module

    @property
    def plan(self) -> Plan:
        """Of the last call."""
        return self._plan(self._require_form())

    def explain(self, name: str | None = None) -> str:
        """Why the plan is as it is, or one part of it: `explain("layer_3/attn")`, the
        path of a module (`jax.named_scope`) or in the state, or a pattern with *."""
        form = self._require_form()
        return explain(form.module, self._plan(form).json, name)

    def close(self) -> None:
        """Ends the job and the engine; states that are in it are fetched before."""
        self._recorder.close()
        self._interrupts.close()
        for form in list(self._loaded):
            self._unload(form)
        self._trained = None
        self._place.close()

    def _unload(self, form: CallForm) -> None:
        loaded = self._loaded.pop(form)
        try:
            loaded.await_saved()
        except MeshwrightError as error:
            warn(f"the state was not saved: {error}")
        loaded.close()

    def __enter__(self) -> "ParallelStep":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _require_form(self) -> CallForm:
        if self._last_form is None:
            raise MeshwrightError(
                f"{self.__name__} has not been called: call it, or prepare it with "
                "arguments"
            )
        return self._last_form

    def _form(self, args, kwargs) -> tuple[CallForm, list]:
        import jax

        args, kwargs = self._static.hold(args, kwargs)
        leaves, structure = jax.tree_util.tree_flatten((args, kwargs))
        leaves = State.without_repeated(self._static.leaves(leaves, (args, kwargs)))
        key = (structure, *map(key_of, leaves))
        try:
            form = self._forms.get(key)
        except (TypeError, ValueError):  # Of what has no hash.
            self._check(args, kwargs)
            self._static.require_hashable(args, kwargs)
            raise
        if form is None:
            self._place.start()
            self._check(args, kwargs)
            form = self._forms[key] = form_of(
                self._fn, leaves, structure, self._place.platform, **self._lowering
            )
        self._last_form = form
        return form, leaves

    def _check(self, args, kwargs) -> None:
        """Refuses what is no array, by the name of the argument."""
        try:
            bound = inspect.signature(self._fn).bind(*args, **kwargs)
        except (TypeError, ValueError) as error:
            if isinstance(error, TypeError):
                raise MeshwrightError(f"{self.__name__}: {error}") from None
            return
        for name, value in bound.arguments.items():
            if is_nnx_object(value):
                raise MeshwrightError(
                    f"{name} is an nnx object, whose arrays would be sent with every "
                    f"call: hand it over once, {name} = step.put({name}), or make it "
                    "there with step.init"
                )
            require_arrays(_without_known(value), name)

    def _plan(self, form: CallForm) -> Plan:
        plan = self._plans.get(form.module.hlo)
        if plan is None:
            with self._progress(f"planning {self.__name__}"):
                made = self._place.service.plan(
                    form.module.hlo, self._place.cluster, self._options
                )
            plan = Plan(f"plan of {self.__name__}", made)
            self._plans[form.module.hlo] = plan
        return plan

    def _load(self, form: CallForm) -> LoadedStep:
        loaded = self._loaded.pop(form, None)
        if loaded is None or not loaded.is_loaded:
            loaded = self._load_anew(form)
        self._loaded[form] = loaded
        return loaded

    def _load_anew(self, form: CallForm) -> LoadedStep:
        plan = self._plan(form)
        while len(self._loaded) >= _MOST_LOADED:
            self._unload(next(iter(self._loaded)))
        service = self._place.service
        with self._progress(f"compiling {self.__name__}"):
            number = service.jobs.load(form.module.hlo, plan.json)
        loaded = LoadedStep(service, number, form, self._place.platform)
        service.jobs.add(loaded)
        self._recorder.watch(service, number)
        return loaded


def _without_known(tree):
    """What is to be looked at."""
    import jax

    def known(leaf):
        return 0 if isinstance(leaf, State | Dataset | Held) else leaf

    return jax.tree_util.tree_map(known, tree)

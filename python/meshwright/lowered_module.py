"""A lowered training step: an HLO module with names and roles for its parts.

The module is an HloModuleProto with these additions, format `1`:

- Every entry parameter has the frontend attributes `mw.name` and `mw.role`.
  A name is the argument's name, then the path in its pytree, joined by `/`:
  `step(state, batch)` has `state/params/blocks/0/qkv` and `batch/tokens`, and an
  argument that is a bare array is just `learning_rate`. Names are unique.
  A role is `state` (kept from step to step) or `data` (new in each step).
  If the caller named the batch dimension of data, it is in `mw.batch`.
  A typed PRNG key (`jax.random.key`) is u32 with one more dimension (the last) than
  in jax, and its implementation is in `mw.key`.
- The module has the frontend attributes `mw.format` = `1`; `mw.outputs` = a JSON
  array with the name of each output, in order; and `mw.loss` = the index of the
  output that is the loss, absent if there is none; and `mw.key_outputs` = a JSON
  object from the index of each output that is a PRNG key to its implementation,
  absent if there is none; and `mw.rules` = a JSON object of sharding rules by
  custom-call target, absent if none were given.
- An output that is the next value of a state parameter has that parameter's name.
  Any other output is `out`, then its path in the result: `out/1/accuracy`.
- `input_output_alias` pairs each state parameter with its next value, as may-alias,
  and pairs nothing else. Other donated parameters are in `buffer_donor`.
- The entry's root is a flat tuple; parameters are the flattened arguments, one to
  one and in order, including unused ones.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from meshwright.files import read_file, write_file
from meshwright.hlo_module import HloModule

NAME, ROLE, BATCH, KEY = "mw.name", "mw.role", "mw.batch", "mw.key"
FORMAT, OUTPUTS, LOSS = "mw.format", "mw.outputs", "mw.loss"
KEY_OUTPUTS, RULES = "mw.key_outputs", "mw.rules"
FORMAT_VERSION = "1"


@dataclass(frozen=True)
class Parameter:
    """`Parameter("state/w", (3, 4), "f32", "state")`; dtypes are HLO's names.

    `key` is the implementation of a PRNG key, "" for other arrays.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str
    key: str = ""


@dataclass(frozen=True)
class Output:
    """`Output("out/1", (), "f32")`."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    key: str = ""


@dataclass(frozen=True)
class LoweredModule:
    """The bytes of an HloModuleProto, from which everything else is read.

    >>> module = meshwright.lower(step, {"w": w}, x)           # doctest: +SKIP
    >>> [(p.name, p.role) for p in module.parameters]          # doctest: +SKIP
    [('state/w', 'state'), ('x', 'data')]
    >>> [o.name for o in module.outputs], module.loss          # doctest: +SKIP
    (['state/w', 'out/1'], 1)
    """

    hlo: bytes

    @classmethod
    def load(cls, path: str | Path) -> "LoweredModule":
        """Reads a file, compressed or not."""
        return cls(read_file(path))

    def save(self, path: str | Path) -> None:
        """Writes `.hlo.pb`, compressed if the name ends in `.gz` or `.zst`."""
        write_file(path, self.hlo)

    @cached_property
    def parameters(self) -> list[Parameter]:
        return [
            Parameter(
                p.attributes.get(NAME, ""),
                p.shape.dimensions,
                p.shape.dtype,
                p.attributes.get(ROLE, ""),
                p.attributes.get(KEY, ""),
            )
            for p in self._module.parameters
        ]

    @cached_property
    def outputs(self) -> list[Output]:
        names = json.loads(self._module.attributes.get(OUTPUTS, "[]"))
        shapes = self._module.outputs
        names += [""] * (len(shapes) - len(names))
        keys = json.loads(self._module.attributes.get(KEY_OUTPUTS, "{}"))
        return [
            Output(name, shape.dimensions, shape.dtype, keys.get(str(index), ""))
            for index, (name, shape) in enumerate(zip(names, shapes, strict=True))
        ]

    @property
    def aliases(self) -> dict[int, int]:
        """Index of each state parameter -> index of its next value."""
        return self._module.aliases

    @property
    def loss(self) -> int | None:
        """Index of the output that is the loss."""
        index = self._module.attributes.get(LOSS)
        return None if index is None else int(index)

    def __repr__(self) -> str:
        return (
            f"LoweredModule({len(self.hlo)} bytes, {len(self.parameters)} parameters, "
            f"{len(self.outputs)} outputs)"
        )

    @cached_property
    def _module(self) -> HloModule:
        return HloModule(self.hlo)

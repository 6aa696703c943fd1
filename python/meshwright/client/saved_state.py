"""State that is in a checkpoint, until a job takes it over."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from meshwright.client.channel import Service
from meshwright.client.host_arrays import dtype_of, type_name
from meshwright.client.state import Form
from meshwright.errors import MeshwrightError
from meshwright.keys import raw_shape

MANIFEST = "manifest.json"


def newest(directory: str | Path) -> Path:
    """The checkpoint itself, or the newest of those in a folder."""
    folder = Path(directory)
    if (folder / MANIFEST).is_file():
        return folder
    if not folder.is_dir():
        raise MeshwrightError(f"{directory}: there is no such folder")
    found = sorted(
        (path for path in folder.glob("step_*") if (path / MANIFEST).is_file()),
        key=lambda path: (len(path.name), path.name),
    )
    if not found:
        raise MeshwrightError(f"{directory}: there is no checkpoint in it")
    return found[-1]


class SavedState:
    """The home of a store whose arrays are in a checkpoint."""

    def __init__(self, folder: Path, form: Form, argument: str | None = None):
        """`argument`: of the step, which the state was; it tells apart several."""
        self.folder = folder
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            self.step: int = manifest["step"]
            self.extra: dict = manifest.get("extra", {})
            self._files = [file["name"] for file in manifest["files"]]
            tensors = {tensor["name"]: tensor for tensor in manifest["tensors"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise MeshwrightError(
                f"{folder / MANIFEST}: is no manifest of a checkpoint ({error}); see "
                "meshwright checkpoint verify"
            ) from error
        names = form.names()
        if argument is not None:
            own = {name: f"{argument}/{name}".rstrip("/") for name in names}
        else:
            own = self.extra.get("names", {})
        self._tensors = [
            _check(folder, name, _find(folder, own.get(name, name), tensors), leaf)
            for name, leaf in zip(names, form.leaves, strict=True)
        ]

    def fetch(self, slots: Sequence[int]) -> list:
        """Read from the files, here; checksums are looked at when a job reads them."""
        return [self._read(self._tensors[slot]) for slot in slots]

    @property
    def source(self):
        """Equal for homes that fill a job together."""
        return self.folder

    def fill(self, service: Service, job: int, homes: Mapping, _) -> None:
        """Gives a job its state, which the workers read themselves; `homes` are all
        that are in this checkpoint, with their slots by parameter."""
        for home, slots in homes.items():
            for parameter, slot in slots.items():
                name = home._tensors[slot]["name"]
                if name != parameter:
                    raise MeshwrightError(
                        f"{self.folder}: {parameter} of this step is {name} there; "
                        "give the step's arguments the same names"
                    )
        service.restore(job, str(self.folder))

    def _read(self, tensor: Mapping):
        import numpy as np

        array = np.empty(tensor["shape"], dtype_of(tensor["dtype"]))
        for region in tensor["regions"]:
            shape = [
                b - a for a, b in zip(region["start"], region["limit"], strict=True)
            ]
            part = np.fromfile(
                self.folder / self._files[region["file"]],
                np.uint8,
                int(np.prod(shape)) * array.dtype.itemsize,
                offset=region["offset"],
            )
            place = tuple(map(slice, region["start"], region["limit"]))
            array[place] = part.view(array.dtype).reshape(shape)
        return array


def _find(folder: Path, name: str, tensors: Mapping) -> Mapping:
    if name in tensors:
        return tensors[name]
    # Saved by `meshwright run`: with the name of the step's argument before it.
    found = [key for key in tensors if key.endswith(f"/{name}")]
    if len(found) == 1:
        return tensors[found[0]]
    if found:
        arguments = [key.removesuffix(f"/{name}") for key in found]
        raise MeshwrightError(
            f"{folder}: several states have {name}, those of {', '.join(arguments)}: "
            f"say which one, restore(..., argument={arguments[0]!r})"
        )
    known = ", ".join(sorted(tensors)[:8]) + (", ..." if len(tensors) > 8 else "")
    raise MeshwrightError(
        f"{folder}: the state has {name}, the checkpoint does not: it has {known}"
    )


def _check(folder: Path, name: str, tensor: Mapping, leaf) -> Mapping:
    dtype = "u32" if raw_shape(leaf) != tuple(leaf.shape) else type_name(leaf.dtype)
    own = f"{dtype}{list(raw_shape(leaf))}"
    saved = f"{tensor['dtype']}{tensor['shape']}"
    if own != saved:
        raise MeshwrightError(f"{folder}: {name} is {saved} there, here {own}")
    return tensor

"""__main__.py FOLDER FILE...: lowers every step of these files of models."""

import importlib
import inspect
import sys
from pathlib import Path

from meshwright.errors import MeshwrightError

import meshwright

sys.path.insert(0, str(Path(__file__).parent))


def steps(file: str) -> dict:
    """The functions of a file that take nothing, by name."""
    module = importlib.import_module(file)
    own = inspect.getmembers(module, inspect.isfunction)
    return {
        name: function
        for name, function in own
        if function.__module__ == file and not inspect.signature(function).parameters
    }


def main():
    folder = Path(sys.argv[1])
    failed = []
    for file in sys.argv[2:]:
        for name, make in steps(file).items():
            path = folder / f"{name}.hlo.pb"
            try:
                step, arguments = make()
                meshwright.lower(step, *arguments).save(str(path))
            except (MeshwrightError, TypeError, ValueError, AttributeError) as error:
                failed.append(name)  # The others are lowered.
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
                continue
            print(f"{name}: {path.stat().st_size} bytes", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()

"""Random shardings of a step's parameters, for comparing predictions with runs."""

import random

MESHES = [{"x": 8}, {"x": 2, "y": 4}, {"x": 4, "y": 2}, {"x": 2, "y": 2, "z": 2}]


def random_plan(parameters: list[dict], seed: int) -> dict:
    """A sharding file: state of equal shape and last name lies alike, as an
    optimizer's moments do; the batch is split more often than not."""
    chance = random.Random(seed)
    mesh = chance.choice(MESHES)
    split_state = chance.choice([0.2, 0.5, 0.8])
    chosen = {}
    shardings = {}
    for parameter in parameters:
        shape = parameter["shape"]
        is_data = parameter["role"] == "data"
        key = (is_data, tuple(shape), parameter["name"].split("/")[-1])
        if key not in chosen:
            chosen[key] = _random_axes(
                shape, mesh, chance, 0.8 if is_data else split_state, is_data
            )
        if any(chosen[key]):
            shardings[parameter["name"]] = chosen[key]
    return {"mesh": mesh, "parameters": shardings}


def _random_axes(shape, mesh, chance, probability, is_data):
    axes = [[] for _ in shape]
    left = list(shape)
    for name, size in mesh.items():
        fitting = [d for d, n in enumerate(left) if n % size == 0]
        if is_data:
            fitting = [d for d in fitting if d == 0]
        if fitting and chance.random() < probability:
            dimension = chance.choice(fitting)
            axes[dimension].append(name)
            left[dimension] //= size
    return axes

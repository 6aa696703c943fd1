"""The programs of all devices as one module for one device, collectives resolved.

    text = all_devices(partitioned_text, 8)

Parameter i of device d becomes parameter i * devices + d; the root is a tuple with the
results of device 0, then of device 1, and so on. For programs without loops around
collectives.
"""

import re

_LINE = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*)$")


def all_devices(text: str, devices: int) -> str:
    text = _named_by_root(text)
    head, entry = text.split("ENTRY ", 1)
    body, tail = entry.split("\n}", 1)
    parsed = [_LINE.match(line) for line in body.splitlines()[1:]]
    assert all(parsed), [
        line for line, m in zip(body.splitlines()[1:], parsed, strict=True) if not m
    ]
    out, roots = [], []
    for match in parsed:
        root, name, shape, opcode, rest = match.groups()
        operands, attributes = _split(rest)
        for device in range(devices):
            out += _instruction(
                name, shape, opcode, operands, attributes, device, devices
            )
            if root:
                roots.append(_of(name, device))
    if parsed[-1].group(4) == "tuple":
        results = _split(parsed[-1].group(5))[0]
        shapes = _elements(parsed[-1].group(3))
        out = out[: -len(roots)]
        roots = [_of(r, d) for d in range(devices) for r in results]
        shapes = shapes * devices
    else:
        shapes = [parsed[-1].group(3)] * devices
    out.append(f"  ROOT all = ({', '.join(shapes)}) tuple({', '.join(roots)})")
    head = re.sub(r", entry_computation_layout=.*", "", head)
    head = re.sub(r", input_output_alias=.*", "", head)
    return head + "ENTRY entry {\n" + "\n".join(out) + "\n}" + tail


def _named_by_root(text: str) -> str:
    """With the opcode of its root in place of the name of what all-reduces apply."""
    for name in set(re.findall(r"all-reduce\(.*to_apply=%?([\w.\-]+)", text)):
        body = re.search(
            rf"^%?{re.escape(name)} .*?^}}", text, re.MULTILINE | re.DOTALL
        ).group()
        root = re.search(r"ROOT .*? ([a-z]+)\(", body).group(1)
        text = re.sub(
            rf"(all-reduce\(.*to_apply=)%?{re.escape(name)}\b", rf"\1{root}", text
        )
    return text


def _of(name: str, device: int) -> str:
    return f"{name}.d{device}"


def _split(rest: str) -> tuple[list[str], str]:
    operands, attributes = rest.split(")", 1)
    return [one.strip().lstrip("%") for one in operands.split(",") if one], attributes


def _elements(shape: str) -> list[str]:
    return re.findall(r"\w+\[[^\]]*\](?:\{[^}]*\})?", shape)


def _instruction(name, shape, opcode, operands, attributes, device, devices):
    own = _of(name, device)
    if opcode == "parameter":
        number = int(operands[0]) * devices + device
        return [f"  {own} = {shape} parameter({number})"]
    if opcode == "constant":
        return [f"  {own} = {shape} constant({', '.join(operands)}){attributes}"]
    if opcode in ("replica-id", "partition-id"):
        return [f"  {own} = {shape} constant({device})"]
    if opcode == "collective-permute":
        return _permute(own, shape, operands, attributes, device)
    if opcode in ("all-reduce", "all-gather"):
        group = _group(attributes, device, devices)
        return _collective(own, shape, opcode, operands, attributes, group)
    attributes = re.sub(r", metadata=\{[^}]*\}", "", attributes)
    named = ", ".join(_of(one, device) for one in operands)
    return [f"  {own} = {shape} {opcode}({named}){attributes}"]


def _permute(own, shape, operands, attributes, device):
    pairs = re.search(r"source_target_pairs=\{(.*?)\}\}", attributes).group(1) + "}"
    sources = {int(b): int(a) for a, b in re.findall(r"\{(\d+),(\d+)\}", pairs)}
    if len(operands) == 1 and device not in sources:  # It gets zeros.
        dtype, zero = shape.partition("[")[0], f"{own}.zero"
        return [
            f"  {zero} = {dtype}[] constant({'false' if dtype == 'pred' else 0})",
            f"  {own} = {shape} broadcast({zero}), dimensions={{}}",
        ]
    assert device in sources, "devices to which nothing of several is sent"
    if len(operands) == 1:
        return [f"  {own} = {shape} reshape({_of(operands[0], sources[device])})"]
    named = ", ".join(_of(one, sources[device]) for one in operands)
    return [f"  {own} = {shape} tuple({named})"]


def _group(attributes, device, devices):
    groups = re.search(r"replica_groups=\{(.*?)\}\}", attributes)
    if groups is None:
        return list(range(devices))
    for text in re.findall(r"\{([\d,]+)\}?", groups.group(1) + "}"):
        members = [int(one) for one in text.split(",")]
        if device in members:
            return members
    raise AssertionError(attributes)


def _collective(own, shape, opcode, operands, attributes, group):
    lines = []
    shapes = _elements(shape)
    for i, (operand, one) in enumerate(zip(operands, shapes, strict=True)):
        parts = [_of(operand, member) for member in group]
        result = own if len(operands) == 1 else f"{own}.{i}"
        if opcode == "all-gather":
            dims = re.search(r"dimensions=(\{\d+\})", attributes).group(1)
            joined = ", ".join(parts)
            lines.append(f"  {result} = {one} concatenate({joined}), dimensions={dims}")
            continue
        combine = re.search(r"to_apply=%?([a-z]+)", attributes).group(1)
        total = parts[0]
        for j, part in enumerate(parts[1:]):
            last = j == len(parts) - 2
            name = result if last else f"{result}.s{j}"
            lines.append(f"  {name} = {one} {combine}({total}, {part})")
            total = name
    if len(operands) > 1:
        named = ", ".join(f"{own}.{i}" for i in range(len(operands)))
        lines.append(f"  {own} = {shape} tuple({named})")
    return lines

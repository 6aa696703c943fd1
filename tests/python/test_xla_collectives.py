"""Reading collectives from the text of a compiled module."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from _xla_collectives import collectives, wire_bytes

TEXT = """\
HloModule jit_step, is_scheduled=true, num_partitions=8

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add = f32[] add(%a, %b)
}

%fused (p0: s32[], p1: f32[64,8]) -> f32[8,8] {
  %p0 = s32[] parameter(0)
  %p1 = f32[64,8]{1,0} parameter(1)
  ROOT %cut = f32[8,8]{1,0} dynamic-slice(%p1, %p0, %p0), dynamic_slice_sizes={8,8}
}

%body (loop: (s32[], bf16[16])) -> (s32[], bf16[16]) {
  %loop = (s32[], bf16[16]{0}) parameter(0)
  %i = s32[] get-tuple-element(%loop), index=0
  %x = bf16[16]{0} get-tuple-element(%loop), index=1
  %in_loop = bf16[16]{0} all-reduce(%x), channel_id=1, \
replica_groups={{0,1},{2,3},{4,5},{6,7}}, to_apply=%sum, \
metadata={op_name="jit(step)/while/dot"}
  ROOT %next = (s32[], bf16[16]{0}) tuple(%i, %in_loop)
}

%never (loop.1: (s32[], bf16[16])) -> pred[] {
  %loop.1 = (s32[], bf16[16]{0}) parameter(0)
  ROOT %yes = pred[] constant(true)
}

ENTRY %main (w: f32[64,8], v: f32[2]) -> f32[8,8] {
  %w = f32[64,8]{1,0} parameter(0)
  %v = f32[2]{0} parameter(1)
  %start = (s32[], bf16[16]{0}) tuple()
  %while = (s32[], bf16[16]{0}) while(%start), condition=%never, body=%body, \
backend_config={"known_trip_count":{"n":"3"}}
  %both = (f32[64,8]{1,0}, f32[2]{0}) all-reduce(%w, /*index=1*/%v), \
replica_groups=[1,8]<=[8], to_apply=%sum
  %w.1 = f32[64,8]{1,0} get-tuple-element(%both), index=0
  %v.1 = f32[2]{0} get-tuple-element(%both), index=1
  %moved = f32[2]{0} collective-permute(%v.1), source_target_pairs={{0,1},{1,0}}
  %wide = f32[8]{0} all-gather(%moved), \
replica_groups=mesh['axis_0'=4,'axis_1'=2], device_ids=([2,4]T(1,0)) {'axis_0'}
  %zero = s32[] constant(0)
  ROOT %out = f32[8,8]{1,0} fusion(%zero, %w.1), kind=kLoop, calls=%fused
}
"""


def test_finds_every_tensor_with_its_group_and_how_often_it_moves():
    found = [(c.kind, c.devices, c.bytes, c.count, c.sliced) for c in collectives(TEXT)]
    assert found == [
        ("all-reduce", 2, 32, 3, False),
        ("all-reduce", 8, 2048, 1, True),
        ("all-reduce", 8, 8, 1, False),
        ("collective-permute", 2, 8, 1, False),
        ("all-gather", 4, 8, 1, False),
    ]
    assert collectives(TEXT)[0].source == "jit(step)/while/dot"


@pytest.mark.parametrize(
    ("groups", "devices"),
    [
        ("{{0,2,4,6},{1,3,5,7}}", 4),
        ("[2,4]<=[4,2]T(1,0)", 4),
        ("mesh['a'=4,'b'=2] {'a','b'}", 8),
        ("mesh['a'=8] {'a':(2)4}", 4),
        ("{}", 8),
    ],
)
def test_group_sizes(groups, devices):
    text = TEXT.replace("[1,8]<=[8]", groups)
    assert collectives(text)[1].devices == devices


def test_a_loop_of_unknown_length_is_refused():
    with pytest.raises(ValueError, match="how often while runs"):
        collectives(TEXT.replace("known_trip_count", "something_else"))


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("all-reduce", 150),
        ("all-gather", 300),
        ("reduce-scatter", 75),
        ("all-to-all", 75),
        ("collective-permute", 100),
    ],
)
def test_wire_bytes_of_100_bytes_on_4_devices(kind, sent):
    assert wire_bytes(kind, 4, 100) == sent
    assert wire_bytes(kind, 1, 100) == 0

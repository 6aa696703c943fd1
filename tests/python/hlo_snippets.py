"""HLO text for what JAX does not write, as bodies of modules for XLA's parser.

SNIPPETS maps a name to HLO text; HEADER goes in front.
"""

ADD = """
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}
"""

SNIPPETS = {
    "batch_norm": """
ENTRY main {
  x = f32[2,3,4] parameter(0)
  s = f32[3] parameter(1)
  o = f32[3] parameter(2)
  t = (f32[2,3,4], f32[3], f32[3]) batch-norm-training(x, s, o),
      epsilon=0.001, feature_index=1
  ROOT i = f32[2,3,4] batch-norm-inference(x, s, o, s, o), epsilon=1e-05,
      feature_index=1
}""",
    "rng": """
ENTRY main {
  low = f32[] constant(0)
  high = f32[] constant(1)
  u = f32[4] rng(low, high), distribution=rng_uniform
  n = f32[4] rng(low, high), distribution=rng_normal
  s = u64[2] rng-get-and-update-state(), delta=1
  state = u64[2] parameter(0)
  ROOT b = (u64[2], u32[4]) rng-bit-generator(state), algorithm=rng_philox
}""",
    "topk": """
ENTRY main {
  x = f32[4,9] parameter(0)
  ROOT t = (f32[4,3], s32[4,3]) topk(x), k=3, largest=true
}""",
    "map": ADD
    + """
ENTRY main {
  x = f32[4,9] parameter(0)
  ROOT t = f32[4,9] map(x, x), dimensions={0,1}, to_apply=add
}""",
    "custom_calls": ADD
    + """
ENTRY main {
  x = f32[4,9]{1,0} parameter(0)
  y = s32[] parameter(1)
  a = f32[4,9]{0,1} custom-call(x), custom_call_target="a\\"b\\n\\303\\244",
      operand_layout_constraints={f32[4,9]{0,1}},
      custom_call_has_side_effect=true, api_version=API_VERSION_TYPED_FFI,
      backend_config="{k = 2.5 : f32, s = \\"}\\"}"
  b = (f32[4,9], s32[]) custom-call(x, y), custom_call_target="t",
      output_to_operand_aliasing={{0}: (0, {}), {1}: (1, {})},
      schedule=SCHEDULE_LATEST, backend_config={"a":{"b":"c}"}}
  c = f32[] custom-call(x), custom_call_target="w",
      called_computations={add}, literal=s32[2]{0} {1,2},
      backend_config="plain text", operand_precision={high}
  ROOT d = f32[2] custom-call(), custom_call_target="e",
      custom_call_has_side_effect=true, api_version=API_VERSION_STATUS_RETURNING
}""",
    "sharding": """
ENTRY main {
  a = f32[8,8] parameter(0), sharding={devices=[2,2]0,2,1,3}
  b = f32[8,8] parameter(1), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}
  c = f32[8,8] parameter(2),
      sharding={devices=[4,1,2]<=[2,4]T(1,0) last_tile_dims={manual}}
  d = f32[8,8] parameter(3), sharding={replicated}
  e = f32[8,8] parameter(4), sharding={maximal device=3}
  f = f32[8,8] parameter(5), sharding={manual}
  g = f32[8,8] parameter(6), sharding={unknown}
  h = f32[8,8] parameter(7),
      sharding={devices=[2,1,2,2]<=[8] last_tile_dims={replicated, manual}}
  ROOT t = (f32[8,8], f32[8,8]) tuple(a, b), sharding={{devices=[2,1]<=[2]},
      {replicated}}
}""",
    "attributes": """
ENTRY main {
  a = f32[8] parameter(0), frontend_attributes={k="v \\"q\\"",_x.y-z={a = {b}}}
  b = f32[8] add(a, a),
      metadata={op_type="t" op_name="jit(f)/\\"x\\"" source_file="/a b.py"
      source_line=7}
  c = f32[8] multiply(a, a), control-predecessors={b}
  ROOT d = f32[8] subtract(b, c), control-predecessors={b, c}, backend_config={"w":1}
}""",
    "layouts": """
ENTRY main {
  a = f32[2,3]{0,1} constant({{1,2,3},{4,5,6}})
  b = f32[2,3,4]{1,2,0} constant({{{1,2,3,4},{5,6,7,8},{9,10,11,12}},
      {{13,14,15,16},{17,18,19,20},{21,22,23,24}}})
  c = f32[8,128]{1,0:T(8,128)} parameter(0)
  d = f32[8]{0:S(5)} parameter(1)
  e = f32[<=8]{0} parameter(2)
  f = s4[8]{0:E(4)} parameter(3)
  g = (s32[], (f32[2], pred[])) constant((1, ({1, 2}, true)))
  ROOT t = () tuple()
}""",
    "collectives": ADD
    + """
ENTRY main {
  x = f32[8,4] parameter(0)
  a = f32[8,4] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=add,
      channel_id=1, use_global_device_ids=true
  b = f32[16,4] all-gather(x), replica_groups={{0,1},{2,3}}, dimensions={0}
  c = f32[4,4] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0},
      to_apply=add, constrain_layout=true
  d = f32[8,4] all-to-all(x), replica_groups={{0,1}}, dimensions={0}
  e = (f32[8,4], f32[8,4]) all-to-all(x, x), replica_groups={{0,1}}
  f = f32[8,4] collective-permute(x), source_target_pairs={{0,1},{1,0}}, channel_id=3
  g = f32[8,4] all-reduce(x), replica_groups={}, to_apply=add
  h = f32[8,4] collective-broadcast(x), replica_groups={{0,1}}
  i = f32[8,4] all-reduce-start(x), replica_groups={}, to_apply=add
  j = f32[8,4] all-reduce-done(i)
  k = (f32[8,4], f32[16,4]) all-gather-start(x), replica_groups={{0,1}},
      dimensions={0}
  l = f32[16,4] all-gather-done(k)
  m = (f32[8,4], f32[8,4]) collective-permute-start(x), source_target_pairs={{0,1}}
  n = f32[8,4] collective-permute-done(m)
  o = u32[] replica-id()
  ROOT p = u32[] partition-id()
}""",
    "tokens": """
ENTRY main {
  x = f32[4] parameter(0)
  t = token[] after-all()
  s = (f32[4], u32[], token[]) send(x, t), channel_id=2
  sd = token[] send-done(s), channel_id=2
  r = (f32[4], u32[], token[]) recv(sd), channel_id=3
  rd = (f32[4], token[]) recv-done(r), channel_id=3
  g = f32[4] get-tuple-element(rd), index=0
  a = f32[4] add-dependency(g, sd)
  i = (f32[3], token[]) infeed(t)
  ROOT b = token[] after-all(t, sd)
}""",
    "async": """
wrapped {
  p = f32[4] parameter(0)
  ROOT e = f32[4] exponential(p)
}, execution_thread="worker"

ENTRY main {
  x = f32[4] parameter(0)
  s = ((f32[4]), f32[4], s32[]) async-start(x), async_execution_thread="worker",
      calls=wrapped
  u = ((f32[4]), f32[4], s32[]) async-update(s)
  d = f32[4] async-done(u)
  cs = (f32[4], f32[4], u32[]) copy-start(d)
  ROOT cd = f32[4] copy-done(cs)
}""",
    "dynamic": """
ENTRY main {
  x = f32[8] parameter(0)
  n = s32[] parameter(1)
  a = f32[<=8] set-dimension-size(x, n), dimensions={0}
  s = s32[] get-dimension-size(a), dimensions={0}
  c = f32[8] copy(x)
  ROOT t = (s32[], f32[8]) tuple(s, c)
}""",
    "keyword_names": """
%f32 {
  %inf = f32[] parameter(0)
  ROOT %true = f32[] negate(%inf)
}

ENTRY %unknown {
  %nan = f32[] parameter(0)
  %replicated = f32[] call(%nan), to_apply=%f32
  ROOT %ROOT = f32[] add(%nan, %replicated), control-predecessors={%nan}
}""",
}

ALIASED = """
HloModule aliased, input_output_alias={ {0}: (0, {}, may-alias), {1}: (2, {1},
      must-alias) },
  buffer_donor={ (1, {}) }, entry_computation_layout={(f32[4]{0}, f32[4,2]{0,1},
      (s32[], f32[2]{0}))->(f32[4]{0}, f32[2]{0})},
  frontend_attributes={a="b",m={mesh = #sdy.mesh<["x"=2]>}}

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4,2]{0,1} parameter(1)
  z = (s32[], f32[2]) parameter(2)
  g = f32[2] get-tuple-element(z), index=1
  ROOT t = (f32[4], f32[2]) tuple(x, g)
}"""

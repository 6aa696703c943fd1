// Whole programs with collectives between processes: loops, branches, calls,
// several arrays at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/crossing/cross_workers_for_test.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

constexpr absl::string_view kAdd = R"(
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
})";

Module Read(absl::string_view text) {
  auto module = ReadModuleText(absl::StrCat("HloModule m\n", kAdd, text));
  EXPECT_TRUE(module.ok()) << module.status();
  module->Finish();
  EXPECT_EQ(Verify(*module), absl::OkStatus());
  return *std::move(module);
}

// An f32 parameter of `count` small integers for each device.
DeviceArrays Inputs(size_t devices, int64_t count, size_t seed = 0) {
  DeviceArrays inputs;
  for (size_t device = 0; device < devices; ++device) {
    std::vector<float> values(count);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>((device * 7 + i * 3 + seed * 2) % 5);
    }
    inputs.push_back({std::string(reinterpret_cast<char*>(values.data()),
                                  values.size() * sizeof(float))});
  }
  return inputs;
}

// Workers that have these devices get what one process gets that has them all.
void ExpectEqual(const Module& program, const std::vector<int>& process_of,
                 int64_t count, const Module* reference = nullptr) {
  const DeviceArrays inputs = Inputs(process_of.size(), count);
  const auto wanted =
      RunAlone(reference != nullptr ? *reference : program, inputs);
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  const auto outputs = RunOnWorkers(program, process_of, inputs, 3);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_TRUE(*outputs == *wanted);
}

class CrossProgramsTest : public testing::TestWithParam<std::vector<int>> {
 protected:
  const std::vector<int>& process_of() const { return GetParam(); }
};

TEST_P(CrossProgramsTest, CollectivesRunInLoops) {
  const Module program = Read(R"(
    body {
      s = (s32[], f32[4,8]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      x = f32[4,8] get-tuple-element(s), index=1
      part = f32[1,8] reduce-scatter(x), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=add
      quarter = f32[] constant(0.25)
      quarters = f32[1,8] broadcast(quarter), dimensions={}
      mean = f32[1,8] multiply(part, quarters)
      whole = f32[4,8] all-gather(mean), replica_groups={{0,1,2,3}}, dimensions={0}
      pair = f32[4,8] all-reduce(x), replica_groups={{0,3},{1,2}}, to_apply=add
      moved = f32[4,8] collective-permute(pair), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
      eighth = f32[] constant(0.125)
      eighths = f32[4,8] broadcast(eighth), dimensions={}
      less = f32[4,8] multiply(moved, eighths)
      y = f32[4,8] add(whole, less)
      one = s32[] constant(1)
      next = s32[] add(i, one)
      ROOT t = (s32[], f32[4,8]) tuple(next, y)
    }
    condition {
      s2 = (s32[], f32[4,8]) parameter(0)
      i2 = s32[] get-tuple-element(s2), index=0
      n = s32[] constant(5)
      ROOT go = pred[] compare(i2, n), direction=LT
    }
    ENTRY main {
      p = f32[4,8] parameter(0)
      before = f32[4,8] all-to-all(p), replica_groups={{0,1,2,3}}, dimensions={0}
      zero = s32[] constant(0)
      init = (s32[], f32[4,8]) tuple(zero, before)
      loop = (s32[], f32[4,8]) while(init), condition=condition, body=body
      init2 = (s32[], f32[4,8]) tuple(zero, p)
      loop2 = (s32[], f32[4,8]) while(init2), condition=condition, body=body
      r = f32[4,8] get-tuple-element(loop), index=1
      r2 = f32[4,8] get-tuple-element(loop2), index=1
      after = f32[4,8] all-reduce(p), replica_groups={{0,1,2,3}}, to_apply=add
      ROOT out = (f32[4,8], f32[4,8], f32[4,8]) tuple(r, r2, after)
    })");
  ExpectEqual(program, process_of(), 32);
}

TEST_P(CrossProgramsTest, CollectivesRunInBranchesAndCalls) {
  const Module program = Read(R"(
    gather {
      x1 = f32[8] parameter(0)
      all1 = f32[32] all-gather(x1), replica_groups={{0,2,1,3}}, dimensions={0}
      ROOT s1 = f32[8] slice(all1), slice={[10:18]}
    }
    sum {
      x2 = f32[8] parameter(0)
      ROOT s2 = f32[8] all-reduce(x2), replica_groups={}, to_apply=add
    }
    ENTRY main {
      p = f32[8] parameter(0)
      first = f32[8] call(p), to_apply=sum
      second = f32[8] call(first), to_apply=gather
      one = f32[1] slice(second), slice={[0:1]}
      scalar = f32[] reshape(one)
      limit = f32[] constant(3)
      less = pred[] compare(scalar, limit), direction=LT
      third = f32[8] conditional(less, p, p), true_computation=gather, false_computation=sum
      more = pred[] not(less)
      fourth = f32[8] conditional(more, p, first), true_computation=gather, false_computation=sum
      ROOT out = (f32[8], f32[8], f32[8], f32[8]) tuple(first, second, third, fourth)
    })");
  ExpectEqual(program, process_of(), 8);
}

TEST_P(CrossProgramsTest, OneCollectiveHasSeveralArrays) {
  const Module program = Read(R"(
    ENTRY main {
      p = f32[4,6] parameter(0)
      flat = f32[24] reshape(p)
      q = f32[4] slice(flat), slice={[3:7]}
      n = f32[4,6] negate(p)
      sums = (f32[4,6], f32[4], f32[4,6]) all-reduce(p, q, n), replica_groups={{0,1,2,3}}, to_apply=add
      a = f32[4,6] get-tuple-element(sums), index=0
      b = f32[4] get-tuple-element(sums), index=1
      c = f32[4,6] get-tuple-element(sums), index=2
      r0 = f32[1,6] slice(p), slice={[0:1], [0:6]}
      r1 = f32[1,6] slice(p), slice={[1:2], [0:6]}
      r2 = f32[1,6] slice(p), slice={[2:3], [0:6]}
      r3 = f32[1,6] slice(p), slice={[3:4], [0:6]}
      rows = (f32[1,6], f32[1,6], f32[1,6], f32[1,6]) all-to-all(r0, r1, r2, r3), replica_groups={{1,0,3,2}}
      s0 = f32[1,6] get-tuple-element(rows), index=0
      s1 = f32[1,6] get-tuple-element(rows), index=1
      s2 = f32[1,6] get-tuple-element(rows), index=2
      s3 = f32[1,6] get-tuple-element(rows), index=3
      ROOT out = (f32[4,6], f32[4], f32[4,6], f32[1,6], f32[1,6], f32[1,6], f32[1,6]) tuple(a, b, c, s0, s1, s2, s3)
    })");
  ExpectEqual(program, process_of(), 24);
}

TEST_P(CrossProgramsTest, LoopsHaveInvariants) {
  const Module program = Read(R"(
    body {
      s = (s32[], f32[8,8], f32[8,8], f32[8,8]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      x = f32[8,8] get-tuple-element(s), index=1
      w = f32[8,8] get-tuple-element(s), index=2
      dead = f32[8,8] get-tuple-element(s), index=3
      t = f32[8,8] transpose(w), dimensions={1,0}
      tt = f32[8,8] negate(t)
      ww = f32[8,8] dot(tt, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      g = f32[8,8] all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=add
      y = f32[8,8] add(g, ww)
      d = f32[8,8] negate(dead)
      one = s32[] constant(1)
      next = s32[] add(i, one)
      ROOT r = (s32[], f32[8,8], f32[8,8], f32[8,8]) tuple(next, y, w, d)
    }
    condition {
      s2 = (s32[], f32[8,8], f32[8,8], f32[8,8]) parameter(0)
      i2 = s32[] get-tuple-element(s2), index=0
      n = s32[] constant(5)
      ROOT go = pred[] compare(i2, n), direction=LT
    }
    once {
      s3 = (s32[], f32[8,8], f32[8,8], f32[8,8]) parameter(0)
      i3 = s32[] get-tuple-element(s3), index=0
      n3 = s32[] constant(1)
      ROOT go3 = pred[] compare(i3, n3), direction=LT
    }
    ENTRY main {
      p = f32[8,8] parameter(0)
      before = f32[8,8] all-to-all(p), replica_groups={{0,1,2,3}}, dimensions={0}
      zero = s32[] constant(0)
      init = (s32[], f32[8,8], f32[8,8], f32[8,8]) tuple(zero, p, p, p)
      loop = (s32[], f32[8,8], f32[8,8], f32[8,8]) while(init), condition=condition, body=body
      loop1 = (s32[], f32[8,8], f32[8,8], f32[8,8]) while(init), condition=once, body=body
      r = f32[8,8] get-tuple-element(loop), index=1
      r1 = f32[8,8] get-tuple-element(loop1), index=1
      after = f32[8,8] all-reduce(p), replica_groups={{0,1,2,3}}, to_apply=add
      ROOT out = (f32[8,8], f32[8,8], f32[8,8], f32[8,8]) tuple(r, r1, before, after)
    })");
  ExpectEqual(program, process_of(), 64);
}

// Enough and large enough for the compiler to run what is independent at once.
TEST_P(CrossProgramsTest, ManyRunAtOnce) {
  std::string body = "p = f32[64,64] parameter(0)\n";
  std::string values;
  std::string shapes;
  for (int i = 0; i < 24; ++i) {
    const char* groups[] = {"{{0,1,2,3}}", "{{0,2},{1,3}}", "{{0,3},{2,1}}"};
    absl::StrAppend(&body, "k", i, " = f32[] constant(", i, ")\nb", i,
                    " = f32[64,64] broadcast(k", i, "), dimensions={}\nx", i,
                    " = f32[64,64] add(p, b", i, ")\ng", i, " = f32[64,64] ",
                    i % 2 == 0 ? "all-reduce" : "all-to-all", "(x", i,
                    "), replica_groups=", groups[i % 3],
                    i % 2 == 0 ? ", to_apply=add" : ", dimensions={1}", "\ny",
                    i, " = f32[64,64] negate(g", i, ")\n");
    absl::StrAppend(&values, i > 0 ? ", " : "", "y", i);
    absl::StrAppend(&shapes, i > 0 ? ", " : "", "f32[64,64]");
  }
  const Module program =
      Read(absl::StrCat("ENTRY main {\n", body, "ROOT out = (", shapes,
                        ") tuple(", values, ")\n}"));
  ExpectEqual(program, process_of(), 64 * 64);
}

TEST_P(CrossProgramsTest, ConditionsOfLoopsHaveCollectives) {
  const Module program = Read(R"(
    body {
      s = (f32[4], f32[4]) parameter(0)
      x = f32[4] get-tuple-element(s), index=0
      y = f32[4] get-tuple-element(s), index=1
      z = f32[4] add(x, y)
      ROOT r = (f32[4], f32[4]) tuple(z, y)
    }
    condition {
      s2 = (f32[4], f32[4]) parameter(0)
      x2 = f32[4] get-tuple-element(s2), index=0
      sum = f32[4] all-reduce(x2), replica_groups={{0,1,2,3}}, to_apply=add
      one = f32[1] slice(sum), slice={[0:1]}
      scalar = f32[] reshape(one)
      n = f32[] constant(50)
      ROOT go = pred[] compare(scalar, n), direction=LT
    }
    ENTRY main {
      p = f32[4] parameter(0)
      k = f32[] constant(1)
      ones = f32[4] broadcast(k), dimensions={}
      init = (f32[4], f32[4]) tuple(p, ones)
      before = f32[4] all-reduce(p), replica_groups={{0,1,2,3}}, to_apply=add
      loop = (f32[4], f32[4]) while(init), condition=condition, body=body
      after = f32[16] all-gather(p), replica_groups={{0,1,2,3}}, dimensions={0}
      again = (f32[4], f32[4]) while(loop), condition=condition, body=body
      r0 = f32[4] get-tuple-element(again), index=0
      r1 = f32[4] get-tuple-element(again), index=1
      ROOT out = (f32[4], f32[16], f32[4], f32[4]) tuple(before, after, r0, r1)
    })");
  ExpectEqual(program, process_of(), 4);
}

TEST_P(CrossProgramsTest, RunsMayFollowEachOtherClosely) {
  const Module program = Read(R"(
    ENTRY main {
      p = f32[64,64] parameter(0)
      first = f32[64,64] all-reduce(p), replica_groups={{0,2},{1,3}}, to_apply=add
      n = f32[64,64] negate(p)
      second = f32[64,64] all-to-all(n), replica_groups={{0,1,2,3}}, dimensions={1}
      ROOT sum = f32[64,64] add(first, second)
    })");
  std::vector<DeviceArrays> inputs;
  std::vector<DeviceArrays> wanted;
  for (size_t run = 0; run < 12; ++run) {
    inputs.push_back(Inputs(4, 64 * 64, run));
    const auto alone = RunAlone(program, inputs.back());
    ASSERT_TRUE(alone.ok()) << alone.status();
    wanted.push_back(*alone);
  }
  const auto result = OnWorkers(
      program, process_of(), inputs[0],
      [&](WorkerForTest& worker) -> absl::Status {
        const std::vector<int64_t> devices = LocalDevices(worker.place);
        std::vector<LoadedForTest::Started> runs;
        for (const DeviceArrays& all : inputs) {
          DeviceArrays own;
          for (const int64_t device : devices) own.push_back(all[device]);
          MW_ASSIGN_OR_RETURN(runs.emplace_back(), worker.program->Start(own));
        }
        for (size_t run = 0; run < runs.size(); ++run) {
          MW_ASSIGN_OR_RETURN(const DeviceArrays outputs, runs[run].Finish());
          for (size_t i = 0; i < devices.size(); ++i) {
            EXPECT_TRUE(outputs[i] == wanted[run][devices[i]])
                << "run " << run << " on device " << devices[i];
          }
        }
        return absl::OkStatus();
      });
  EXPECT_EQ(result, absl::OkStatus());
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
    Placements, CrossProgramsTest,
    testing::Values(std::vector<int>{0, 0, 1, 1}, std::vector<int>{0, 1, 2, 3},
                    std::vector<int>{0, 1, 0, 1}, std::vector<int>{1, 0, 0, 0},
                    std::vector<int>{0, 0, 0, 0}, std::vector<int>{2, 0, 1, 1}),
    [](const auto& test) { return absl::StrJoin(test.param, "_"); });

}  // namespace meshwright

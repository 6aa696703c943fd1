// Collectives between processes that cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "meshwright/crossing/cross_collectives.h"
#include "meshwright/crossing/cross_workers_for_test.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

Module SumProgram() {
  auto module = ReadModuleText(R"(
    HloModule sum
    add {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = f32[] add(a, b)
    }
    ENTRY main {
      p = f32[2] parameter(0)
      s = f32[2] all-reduce(p), replica_groups={{0,1,2,3}}, to_apply=add
      n = f32[2] negate(s)
      ROOT g = f32[8] all-gather(n), replica_groups={{0,1,2,3}}, dimensions={0}
    })");
  EXPECT_TRUE(module.ok()) << module.status();
  module->Finish();
  return *std::move(module);
}

DeviceArrays Zeros(size_t devices) {
  return DeviceArrays(devices, {std::string(8, '\0')});
}

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

TEST(CrossErrorsTest, AnErrorOfTheWireFailsAllCallsFromThenOn) {
  const auto result = OnWorkers(
      SumProgram(), {0, 0, 1, 2}, Zeros(4),
      [&](WorkerForTest& worker) -> absl::Status {
        MW_RETURN_IF_ERROR(worker.program->Run(worker.inputs).status());
        EXPECT_EQ(worker.collectives->status(), absl::OkStatus());
        if (worker.place.process == 2) {
          worker.wire->Abort(absl::UnavailableError("out of coffee"));
        }
        for (int i = 0; i < 3; ++i) {
          MW_RETURN_IF_ERROR(worker.program->Run(worker.inputs).status());
          const absl::Status failed = worker.collectives->status();
          EXPECT_THAT(Message(failed), HasSubstr("out of coffee"));
          EXPECT_EQ(failed.code(), absl::StatusCode::kUnavailable);
        }
        return absl::OkStatus();
      });
  EXPECT_EQ(result, absl::OkStatus());
}

// Device 1 has its sum from device 3 and waits for device 0 in the compiler's
// own collective, while device 0 waits for device 2, which comes late: if the
// call of device 0 ended its program, device 1 would wait until XLA ends the
// process.
TEST(CrossErrorsTest, DevicesOfOneProcessEndTogether) {
  auto module = ReadModuleText(R"(
    HloModule late
    add {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = f32[] add(a, b)
    }
    turn {
      s = (f32[], f32[2048]) parameter(0)
      i = f32[] get-tuple-element(s), index=0
      x = f32[2048] get-tuple-element(s), index=1
      one = f32[] constant(1)
      j = f32[] subtract(i, one)
      y = f32[2048] cosine(x)
      ROOT t = (f32[], f32[2048]) tuple(j, y)
    }
    more {
      s = (f32[], f32[2048]) parameter(0)
      i = f32[] get-tuple-element(s), index=0
      none = f32[] constant(0)
      ROOT b = pred[] compare(i, none), direction=GT
    }
    ENTRY main {
      p = f32[2] parameter(0)
      first = f32[1] slice(p), slice={[0:1]}
      turns = f32[] reshape(first)
      x = f32[2048] broadcast(turns), dimensions={}
      start = (f32[], f32[2048]) tuple(turns, x)
      end = (f32[], f32[2048]) while(start), condition=more, body=turn
      turned = f32[2048] get-tuple-element(end), index=1
      head = f32[1] slice(turned), slice={[0:1]}
      value = f32[] reshape(head)
      s = f32[] all-reduce(value), replica_groups={{0,2},{1,3}}, to_apply=add
      ROOT t = f32[] all-reduce(s), replica_groups={{0,1},{2,3}}, to_apply=add
    })");
  ASSERT_TRUE(module.ok()) << module.status();
  module->Finish();
  DeviceArrays inputs = Zeros(4);
  const float turns = 200000;
  std::memcpy(inputs[2][0].data(), &turns, sizeof(turns));
  const auto result = OnWorkers(
      *module, {0, 0, 1, 1}, inputs,
      [&](WorkerForTest& worker) -> absl::Status {
        std::thread abort([&] {
          absl::SleepFor(absl::Milliseconds(100));
          worker.wire->Abort(absl::UnavailableError("out of coffee"));
        });
        const absl::Status run = worker.program->Run(worker.inputs).status();
        abort.join();
        EXPECT_EQ(run, absl::OkStatus());
        EXPECT_EQ(worker.collectives->status().code(),
                  absl::StatusCode::kUnavailable)
            << worker.collectives->status();
        return absl::OkStatus();
      });
  EXPECT_EQ(result, absl::OkStatus());
}

TEST(CrossErrorsTest, NobodyWaitsForEver) {
  const auto result = OnWorkers(
      SumProgram(), {0, 0, 1, 1}, Zeros(4),
      [&](WorkerForTest& worker) -> absl::Status {
        if (worker.place.process == 1) return absl::OkStatus();
        MW_RETURN_IF_ERROR(worker.program->Run(worker.inputs).status());
        const absl::Status failed = worker.collectives->status();
        EXPECT_THAT(Message(failed), HasSubstr("worker 1"));
        EXPECT_THAT(Message(failed), HasSubstr("all-reduce"));
        return absl::OkStatus();
      },
      absl::Seconds(1));
  EXPECT_EQ(result, absl::OkStatus());
}

TEST(CrossErrorsTest, UnloadedJobsEndTheirCalls) {
  ASSERT_EQ(CrossCollectives::Register(CpuPlugin()), absl::OkStatus());
  const auto wires = MakeMemoryWires(2, absl::Minutes(5));
  constexpr int64_t kJob = 1 << 20;
  const Module program = SumProgram();
  const auto part =
      LowerForProcess(program, {.process_of = {0, 0, 1, 1}}, kJob);
  ASSERT_TRUE(part.ok()) << part.status();
  auto loaded = LoadedForTest::Load(*part, 2);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(Message(loaded->Run(Zeros(2)).status()),
              HasSubstr("has no collectives on worker 0"));

  auto collectives = CrossCollectives::Create(kJob, wires[0].get());
  ASSERT_TRUE(collectives.ok()) << collectives.status();
  EXPECT_EQ(CrossCollectives::Create(kJob, wires[0].get()).status().code(),
            absl::StatusCode::kAlreadyExists);
  absl::Status failed;
  std::thread run([&] { failed = loaded->Run(Zeros(2)).status(); });
  absl::SleepFor(absl::Milliseconds(100));
  collectives->reset();
  run.join();
  // Before its calls or while they wait.
  EXPECT_THAT(Message(failed), HasSubstr(absl::StrCat("job ", kJob)));
  // It may be loaded again, also without having done anything.
  collectives = CrossCollectives::Create(kJob, wires[0].get());
  ASSERT_TRUE(collectives.ok()) << collectives.status();
}

TEST(CrossErrorsTest, TrafficIsCounted) {
  const auto result = OnWorkers(
      SumProgram(), {0, 0, 1, 1}, Zeros(4),
      [&](WorkerForTest& worker) -> absl::Status {
        for (int i = 1; i < 4; ++i) {
          MW_RETURN_IF_ERROR(worker.program->Run(worker.inputs).status());
          const CrossTraffic traffic = worker.collectives->traffic();
          // 8 bytes summed up by two, and 16 bytes sent to one.
          EXPECT_EQ(traffic.bytes_sent, 24 * i);
          EXPECT_EQ(traffic.rounds, 2 * i);
          EXPECT_GT(traffic.seconds_waited, 0);
        }
        return absl::OkStatus();
      });
  EXPECT_EQ(result, absl::OkStatus());
}

}  // namespace
}  // namespace meshwright

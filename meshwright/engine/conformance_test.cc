// What every engine must do alike: programs. Buffers have their own file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/engine/client.h"
#include "meshwright/engine/conformance_fixture.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_P(ConformanceTest, ProgramsComputeWhatTheySay) {
  const auto add = Compile("add");
  ASSERT_NE(add, nullptr);
  const BufferPtr a = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const BufferPtr b = Floats({2, 3}, {10, 20, 30, 40, 50, 60});
  const auto sum = Outputs(*add, {a.get(), b.get()});
  EXPECT_EQ(sum[0]->shape(), (BufferShape{ElementType::kF32, {2, 3}}));
  EXPECT_EQ(&sum[0]->device(), &device());
  EXPECT_THAT(Fetch(*sum[0]), ElementsAre(11, 22, 33, 44, 55, 66));
  EXPECT_THAT(Fetch(*Outputs(*add, {a.get(), a.get()})[0]),
              ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_FALSE(a->IsDeleted());
}

TEST_P(ConformanceTest, ScalarsEmptyArraysAndNarrowFloatsRun) {
  const auto scalars = Compile("add_scalars");
  const BufferPtr five = Send<int32_t>(ElementType::kS32, {}, {5});
  EXPECT_THAT(Fetch<int32_t>(*Outputs(*scalars, {five.get(), five.get()})[0]),
              ElementsAre(10));
  const auto nothing = Compile("add_nothing");
  const BufferPtr empty = Floats({0, 3}, {});
  EXPECT_THAT(Fetch(*Outputs(*nothing, {empty.get(), empty.get()})[0]),
              ElementsAre());
  const auto bf16 = Compile("add_bf16");
  const BufferPtr halves =
      Send<uint16_t>(ElementType::kBF16, {3}, {0x3f80, 0x4000, 0x3f80});
  EXPECT_THAT(Fetch<uint16_t>(*Outputs(*bf16, {halves.get(), halves.get()})[0]),
              ElementsAre(0x4000, 0x4080, 0x4000));
}

TEST_P(ConformanceTest, TransposedResultsComeBackRowMajor) {
  const auto transpose = Compile("transpose");
  const BufferPtr a = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto result = Outputs(*transpose, {a.get()});
  EXPECT_EQ(result[0]->shape(), (BufferShape{ElementType::kF32, {3, 2}}));
  EXPECT_THAT(Fetch(*result[0]), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_P(ConformanceTest, DonationDeletesTheInputAndReusesItsMemory) {
  const auto accumulate = Compile("accumulate");
  const BufferPtr state = Floats({4}, {1, 2, 3, 4});
  const BufferPtr one = Floats({4}, {1, 1, 1, 1});
  const uintptr_t address = *state->Address();
  const auto outputs = Outputs(*accumulate, {state.get(), one.get()});
  EXPECT_TRUE(state->IsDeleted());
  EXPECT_FALSE(one->IsDeleted());
  EXPECT_EQ(*outputs[0]->Address(), address);
  EXPECT_THAT(Fetch(*outputs[0]), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(Fetch(*outputs[1]), ElementsAre(14));
}

TEST_P(ConformanceTest, NonDonatableParametersKeepTheirBuffers) {
  const auto accumulate = Compile("accumulate");
  const BufferPtr state = Floats({4}, {1, 2, 3, 4});
  const BufferPtr one = Floats({4}, {1, 1, 1, 1});
  const std::vector<int64_t> kept = {0};
  const auto outputs =
      Outputs(*accumulate, {state.get(), one.get()}, {.non_donatable = kept});
  EXPECT_THAT(Fetch(*outputs[0]), ElementsAre(2, 3, 4, 5));
  EXPECT_FALSE(state->IsDeleted());
  EXPECT_THAT(Fetch(*state), ElementsAre(1, 2, 3, 4));
}

TEST_P(ConformanceTest, StepsFeedTheNextWithoutWaiting) {
  const auto accumulate = Compile("accumulate");
  BufferPtr state = Floats({4}, {0, 0, 0, 0});
  const BufferPtr one = Floats({4}, {1, 2, 3, 4});
  BufferPtr total;
  for (int step = 0; step < 200; ++step) {
    auto outputs = Outputs(*accumulate, {state.get(), one.get()});
    state = std::move(outputs[0]);
    total = std::move(outputs[1]);
  }
  EXPECT_THAT(Fetch(*state), ElementsAre(200, 400, 600, 800));
  EXPECT_THAT(Fetch(*total), ElementsAre(2000));
}

TEST_P(ConformanceTest, ArgumentsThatDoNotFitAreInvalidAndRunNothing) {
  if (!Open(2)) GTEST_SKIP() << "needs 2 devices";
  const auto program = Compile("accumulate");
  const BufferPtr good = Floats({4}, {1, 2, 3, 4});
  const BufferPtr other = Floats({4}, {1, 1, 1, 1});
  const BufferPtr longer = Floats({5}, {1, 2, 3, 4, 5});
  const BufferPtr square = Floats({2, 2}, {1, 2, 3, 4});
  const BufferPtr whole = Send<int32_t>(ElementType::kS32, {4}, {1, 2, 3, 4});
  const BufferPtr elsewhere = Floats({4}, {1, 2, 3, 4}, /*on=*/1);
  const auto stranger = *GetParam().create(1);
  const std::vector<float> values(4);
  const BufferPtr foreign = *stranger->FromHost(
      {.bytes = AsBytes(values), .shape = {ElementType::kF32, {4}}},
      *stranger->devices()[0]);

  const auto code = [&](const std::vector<Buffer*>& arguments,
                        const ExecuteOptions& options = {}) {
    return Start(*program, arguments, options).status().code();
  };
  EXPECT_EQ(code({}), kBad);
  EXPECT_EQ(code({good.get()}), kBad);
  EXPECT_EQ(code({good.get(), other.get(), other.get()}), kBad);
  EXPECT_EQ(code({good.get(), nullptr}), kBad);
  EXPECT_EQ(code({good.get(), longer.get()}), kBad);
  EXPECT_EQ(code({good.get(), square.get()}), kBad);
  EXPECT_EQ(code({good.get(), whole.get()}), kBad);
  EXPECT_EQ(code({good.get(), elsewhere.get()}), kBad);
  EXPECT_EQ(code({good.get(), foreign.get()}), kBad);
  EXPECT_EQ(code({good.get(), good.get()}), kBad);
  const std::vector<int64_t> ninth = {9};
  EXPECT_EQ(code({good.get(), other.get()}, {.non_donatable = ninth}), kBad);
  EXPECT_EQ(program->Execute({}).status().code(), kBad);

  ASSERT_FALSE(good->IsDeleted());
  EXPECT_THAT(Fetch(*Outputs(*program, {good.get(), other.get()})[0]),
              ElementsAre(2, 3, 4, 5));
}

TEST_P(ConformanceTest, ProgramsAndOptionsThatCannotBeCompiledAreErrors) {
  if (!Open(2)) GTEST_SKIP() << "needs 2 devices";
  const Program add = GetParam().program("add");
  for (const Program& program :
       std::vector<Program>{{add.format, "garbage \x01\xff"},
                            {add.format, ""},
                            {"hlo", "garbage \x01\xff"},
                            {"hlo", ""},
                            {"nonsense", add.code},
                            {"", add.code}}) {
    EXPECT_FALSE(client_->Compile(program, {}).ok());
  }
  for (const CompileOptions& options : std::vector<CompileOptions>{
           {.num_replicas = 0},
           {.num_partitions = 0},
           {.num_replicas = -1},
           {.num_replicas = 3},
           {.num_replicas = 2, .num_partitions = 2},
           {.num_replicas = 1 << 20, .num_partitions = 1 << 20},
           {.num_replicas = 2, .device_ids = {0}},
           {.num_replicas = 2, .device_ids = {0, 0}},
           {.num_replicas = 2, .device_ids = {0, 7}}}) {
    EXPECT_EQ(client_->Compile(add, options).status().code(), kBad);
  }
}

TEST_P(ConformanceTest, EightDevicesReduceInGroups) {
  if (!Open(8)) GTEST_SKIP() << "needs 8 devices";
  for (const bool reversed : {false, true}) {
    CompileOptions options{.num_replicas = 8};
    if (reversed) options.device_ids = {7, 6, 5, 4, 3, 2, 1, 0};
    const auto program = Compile("sum_pairs", options);
    ASSERT_EQ(program->devices().size(), 8u);
    std::vector<BufferPtr> arguments;
    for (int r = 0; r < 8; ++r) {
      const int on = reversed ? 7 - r : r;
      EXPECT_EQ(program->devices()[r]->id(), on);
      arguments.push_back(Floats({2}, {float(r), float(r * r)}, on));
    }
    const auto execution = StartOnAll(*program, arguments);
    ASSERT_TRUE(execution.ok()) << execution.status();
    EXPECT_TRUE(AwaitAll(execution->done).ok());
    for (int r = 0; r < 8; ++r) {
      const int peer = (r + 4) % 8;
      EXPECT_THAT(Fetch(*execution->outputs[r][0]),
                  ElementsAre(r + peer, r * r + peer * peer));
      EXPECT_EQ(&execution->outputs[r][0]->device(), program->devices()[r]);
    }
  }
}

TEST_P(ConformanceTest, ProgramsRunOnTheDeviceTheyWereCompiledFor) {
  if (!Open(3)) GTEST_SKIP() << "needs 3 devices";
  const auto add = Compile("add", {.device_ids = {2}});
  ASSERT_EQ(add->devices().size(), 1u);
  const BufferPtr a = Floats({2, 3}, {1, 2, 3, 4, 5, 6}, /*on=*/2);
  const auto sum = Outputs(*add, {a.get(), a.get()});
  EXPECT_EQ(&sum[0]->device(), &device(2));
}

TEST_P(ConformanceTest, ThreadsRunTheirOwnExecutablesAtOnce) {
  const auto work = [this](const std::string& name, std::vector<float>* last) {
    const auto program = Compile(name);
    BufferPtr state = name == "add" ? Floats({2, 3}, {1, 2, 3, 4, 5, 6})
                                    : Floats({4}, {0, 0, 0, 0});
    const BufferPtr one = name == "add" ? Floats({2, 3}, {1, 1, 1, 1, 1, 1})
                                        : Floats({4}, {1, 1, 1, 1});
    for (int step = 0; step < 300; ++step) {
      state = std::move(Outputs(*program, {state.get(), one.get()})[0]);
    }
    *last = Fetch(*state);
  };
  std::vector<float> sums;
  std::vector<float> states;
  std::thread first(work, "add", &sums);
  std::thread second(work, "accumulate", &states);
  first.join();
  second.join();
  EXPECT_THAT(sums, ElementsAre(301, 302, 303, 304, 305, 306));
  EXPECT_THAT(states, ElementsAre(300, 300, 300, 300));
}

TEST_P(ConformanceTest, ErrorsOfARunComeOutWhenAwaited) {
  if (!Open(2)) GTEST_SKIP() << "needs 2 devices";
  const auto fail = Compile("fail", {.num_replicas = 2});
  std::vector<BufferPtr> arguments;
  for (int d = 0; d < 2; ++d) arguments.push_back(Floats({2}, {1, 2}, d));
  const auto execution = StartOnAll(*fail, arguments);
  ASSERT_TRUE(execution.ok()) << execution.status();
  EXPECT_FALSE(AwaitAll(execution->done).ok());
  for (const EventPtr& done : execution->done) {
    EXPECT_EQ(done->Await().code(), absl::StatusCode::kInternal);
    EXPECT_EQ(done->Await().code(), absl::StatusCode::kInternal);
    EXPECT_TRUE(done->IsReady());
  }
  for (const auto& outputs : execution->outputs) {
    std::vector<float> values(2);
    EXPECT_FALSE(outputs[0]->ReadToHost(AsWritableBytes(values)).ok());
    EXPECT_FALSE((*outputs[0]->Ready())->Await().ok());
  }
  // What follows from it fails too; the rest goes on.
  std::vector<BufferPtr> failed;
  for (const auto& outputs : execution->outputs) {
    failed.push_back(*outputs[0]->CopyTo(
        outputs[0]->device().id() == 0 ? device(1) : device(0)));
  }
  std::swap(failed[0], failed[1]);
  for (const BufferPtr& copy : failed) {
    EXPECT_FALSE((*copy->Ready())->Await().ok());
  }
  EXPECT_THAT(Fetch(*arguments[0]), ElementsAre(1, 2));
  const auto add = Compile("add");
  const BufferPtr a = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Fetch(*Outputs(*add, {a.get(), a.get()})[0]),
              ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST_P(ConformanceTest, ExecutablesTellAboutThemselves) {
  const auto accumulate = Compile("accumulate");
  EXPECT_THAT(accumulate->name(), HasSubstr("accumulate"));
  const BufferShape four{ElementType::kF32, {4}};
  EXPECT_EQ(accumulate->signature(),
            (ProgramSignature{.parameters = {four, four},
                              .outputs = {four, {ElementType::kF32, {}}},
                              .donations = {{.parameter = 0, .output = 0}}}));
  const auto memory = accumulate->Memory();
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->argument_bytes, 32);
  EXPECT_GE(memory->output_bytes, 20);
  EXPECT_EQ(memory->alias_bytes, 16);
  EXPECT_GE(memory->total_bytes(), 36);

  const auto matmul = Compile("matmul");
  const auto cost = matmul->Cost();
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->flops, 2 * 8 * 4 * 16);
  EXPECT_EQ(cost->bytes_accessed, 4 * (8 * 16 + 16 * 4 + 8 * 4));
  const auto program = matmul->OptimizedProgram();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_FALSE(program->format.empty());
  EXPECT_FALSE(program->code.empty());
  const auto serialized = matmul->Serialize();
  ASSERT_TRUE(serialized.ok()) << serialized.status();
  EXPECT_FALSE(serialized->empty());
  const auto again = client_->Load(*serialized, {});
  if (!absl::IsUnimplemented(again.status())) {
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->signature(), matmul->signature());
    const BufferPtr a = Floats({8, 16}, std::vector<float>(128, 1));
    const BufferPtr b = Floats({16, 4}, std::vector<float>(64, 2));
    EXPECT_EQ(Fetch(*Outputs(**again, {a.get(), b.get()})[0]),
              std::vector<float>(32, 32));
  }
  const auto fingerprint = matmul->Fingerprint();
  EXPECT_TRUE(fingerprint.ok() || absl::IsUnimplemented(fingerprint.status()));
}

TEST_P(ConformanceTest, WorkMayBeDroppedWhileUnderWay) {
  const auto matmul = Compile("matmul");
  const BufferPtr a = Floats({8, 16}, std::vector<float>(128, 1));
  const BufferPtr b = Floats({16, 4}, std::vector<float>(64, 2));
  for (int i = 0; i < 100; ++i) {
    Outputs(*matmul, {a.get(), b.get()})[0].reset();
  }
  EXPECT_EQ(Fetch(*Outputs(*matmul, {a.get(), b.get()})[0]),
            std::vector<float>(32, 32));
}

INSTANTIATE_TEST_SUITE_P(Engines, ConformanceTest,
                         testing::ValuesIn(EnginesUnderTest()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace meshwright

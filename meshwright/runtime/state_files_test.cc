#include "meshwright/runtime/state_files.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/local_runner.h"

namespace meshwright {
namespace {

constexpr int kTensors = 3;
constexpr int64_t kRows = 4096;
constexpr int64_t kColumns = 2560;  // 40 MiB of f32: two are read at once.

// A step that changes nothing, with the dimensions of a device's shards.
Module Step(int64_t rows, int64_t columns) {
  const std::string shape = absl::StrCat("f32[", rows, ",", columns, "]");
  std::string text =
      "HloModule step, input_output_alias={ {0}: (0, {}, may-alias), "
      "{1}: (1, {}, may-alias), {2}: (2, {}, may-alias) }\n\nENTRY main {\n";
  for (const auto& [index, name] : {std::pair(0, "a"), {1, "b"}, {2, "c"}}) {
    absl::StrAppend(&text, "  ", name, " = ", shape, " parameter(", index,
                    ")\n  next_", name, " = ", shape, " negate(", name, ")\n");
  }
  absl::StrAppend(&text, "  ROOT out = (", shape, ", ", shape, ", ", shape,
                  ") tuple(next_a, next_b, next_c)\n}\n");
  return ReadModuleText(text).value();
}

std::unique_ptr<JobRunner> RunnerFor(const Module& module,
                                     const Module& program,
                                     const std::string& sharding,
                                     Client* client) {
  const Mesh mesh = Mesh::Parse("a=2").value();
  const Sharding split =
      ParseSharding(sharding, {kRows, kColumns}, mesh).value();
  const std::vector<Sharding> all(kTensors, split);
  return MakeLocalRunner(module, ShardedStep{program, mesh, all, all}, client)
      .value();
}

TEST(StateFilesTest, ShardsThatAreReadInSeveralBatches) {
  const std::string directory =
      absl::StrCat(testing::TempDir(), "/state_files_", ::getpid());
  const auto client = CpuPlugin().CreateClient({.cpu_devices = 2}).value();
  const Module module = Step(kRows, kColumns);
  const auto from =
      RunnerFor(module, Step(kRows / 2, kColumns), "[a, -]", client.get());
  ASSERT_EQ(from->FillSynthetic(0), absl::OkStatus());
  ASSERT_EQ(from->Save({.directory = directory, .step = 1}), absl::OkStatus());
  const auto to =
      RunnerFor(module, Step(kRows, kColumns / 2), "[-, a]", client.get());
  const auto restored = to->Restore(directory);
  ASSERT_TRUE(restored.ok()) << restored.status();
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_TRUE(*to->Read(name) == *from->Read(name)) << name;
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace meshwright

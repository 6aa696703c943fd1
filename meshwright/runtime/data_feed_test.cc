// Steps that a dataset feeds.
#include "meshwright/runtime/data_feed.h"

#include <cstring>
#include <filesystem>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/data/dataset_files_for_test.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/local_runner.h"
#include "meshwright/state/archive_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// step(w, x) -> (w + x), of floats, w aliased to output 0.
Module Adder(std::vector<int64_t> dimensions) {
  Module module("adder");
  const Shape vector = Shape::Array(ElementType::kF32, std::move(dimensions));
  Computation* entry = module.AddComputation("main");
  Instruction* w = entry->AddParameter(vector, "w");
  Instruction* x = entry->AddParameter(vector, "x");
  Instruction* next = entry->Add(Opcode::kAdd, vector, {w, x}, "next");
  entry->Add(Opcode::kTuple, Shape::Tuple({vector}), {next}, "results");
  module.set_entry(entry);
  module.aliases.push_back({.output_index = {0}, .parameter_number = 0});
  EXPECT_TRUE(Verify(module).ok()) << Verify(module);
  return module;
}

Tensor Floats(std::string name, std::vector<float> values) {
  Tensor tensor{.name = std::move(name),
                .type = ElementType::kF32,
                .dimensions = {std::ssize(values)}};
  tensor.data.resize(values.size() * sizeof(float));
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

class DataFeedTest : public testing::Test {
 protected:
  // Samples 1, 2, 4, 8, ...: sums tell which they were.
  std::string Powers(int64_t count) {
    std::string data;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(int64_t{1} << i);
      data.append(reinterpret_cast<const char*>(&value), 4);
    }
    return files_.Write(
        "powers.npy",
        Npy(absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (",
                         count, ",), }\n"),
            data));
  }
  std::string Dataset(const std::string& path, const std::string& more = "") {
    return absl::StrCat(R"({"kind": "npz", "files": [")", path,
                        R"("], "parameters": {"x": ""})", more, "}");
  }

  // Two rows in a batch, on two devices if `sharding` says so.
  std::unique_ptr<JobRunner> Make(absl::string_view sharding) {
    const auto parsed = ParseSharding(sharding, {2}, mesh_).value();
    program_ = std::make_unique<Module>(Adder({sharding == "[a]" ? 1 : 2}));
    const ShardedStep step{*program_, mesh_, {parsed, parsed}, {parsed}};
    auto runner = MakeLocalRunner(module_, step, client_.get()).value();
    EXPECT_TRUE(runner->Set({Floats("w", {0, 0})}).ok());
    return runner;
  }

  std::vector<float> State(const JobRunner& runner) {
    const Tensor w = runner.Read("w").value();
    std::vector<float> values(w.data.size() / 4);
    std::memcpy(values.data(), w.data.data(), w.data.size());
    return values;
  }

  const Mesh mesh_ = Mesh::Create({{"a", 2}}).value();
  const Module module_ = Adder({2});
  std::unique_ptr<Module> program_;
  std::unique_ptr<Client> client_ =
      CpuPlugin().CreateClient({.cpu_devices = 2}).value();
  DatasetFilesForTest files_;
};

TEST_F(DataFeedTest, StepsTakeOneBatchAfterAnother) {
  for (const char* sharding : {"[-]", "[a]"}) {
    const auto runner = Make(sharding);
    EXPECT_EQ(runner->position(), std::nullopt);
    const absl::Status fed = runner->Feed(Dataset(Powers(5)), 0);
    ASSERT_TRUE(fed.ok()) << fed;
    EXPECT_EQ(runner->position(), 0);
    ASSERT_TRUE(runner->Steps(2).ok());
    EXPECT_THAT(State(*runner), ElementsAre(1 + 4, 2 + 8));
    EXPECT_EQ(runner->position(), 4);
    ASSERT_TRUE(runner->Steps(1).ok());  // Into the next epoch.
    EXPECT_THAT(State(*runner), ElementsAre(1 + 4 + 16, 2 + 8 + 1));
  }
}

// Rows that do not divide evenly, of which devices have parts only.
TEST_F(DataFeedTest, ShardsAreThoseOfTensorsThatAreSet) {
  const Mesh mesh = Mesh::Create({{"a", 2}, {"b", 2}}).value();
  const auto client = CpuPlugin().CreateClient({.cpu_devices = 4}).value();
  const Module module = Adder({3, 4});
  std::vector<float> values(7 * 4);
  std::iota(values.begin(), values.end(), 1.0f);
  const std::string data = Floats("", values).data;
  const std::string path = files_.Write(
      "m.npy", Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (7, 4), "
                   "}\n",
                   data));
  for (const char* text : {"[a, b]", "[-, (a,b)]", "[(a,b), -]", "[b, a]"}) {
    const auto sharding = ParseSharding(text, {3, 4}, mesh).value();
    const Module program = Adder(LocalDimensions(sharding, mesh));
    const ShardedStep step{program, mesh, {sharding, sharding}, {sharding}};
    const auto runner = MakeLocalRunner(module, step, client.get()).value();
    Tensor zero{.name = "w",
                .type = ElementType::kF32,
                .dimensions = {3, 4},
                .data = std::string(48, '\0')};
    ASSERT_TRUE(runner->Set({zero}).ok());
    ASSERT_TRUE(runner->Feed(Dataset(path), 3).ok());
    ASSERT_TRUE(runner->Steps(1).ok());
    EXPECT_EQ(runner->Read("w")->data, data.substr(48, 48)) << text;
  }
}

TEST_F(DataFeedTest, APositionIsWhereToGoOn) {
  const auto undisturbed = Make("[a]");
  const std::string dataset = Dataset(Powers(7), R"(, "shuffle": 3)");
  ASSERT_TRUE(undisturbed->Feed(dataset, 0).ok());
  ASSERT_TRUE(undisturbed->Steps(9).ok());
  const auto first = Make("[a]");
  ASSERT_TRUE(first->Feed(dataset, 0).ok());
  ASSERT_TRUE(first->Steps(4).ok());
  const auto second = Make("[-]");
  ASSERT_TRUE(second->Set({first->Read("w").value()}).ok());
  ASSERT_TRUE(second->Feed(dataset, *first->position()).ok());
  ASSERT_TRUE(second->Steps(5).ok());
  EXPECT_EQ(State(*second), State(*undisturbed));
  EXPECT_EQ(second->position(), undisturbed->position());
}

TEST_F(DataFeedTest, SunkBatchesAreReadOnce) {
  const auto runner = Make("[a]");
  const std::string path = Powers(8);
  ASSERT_TRUE(runner->Feed(Dataset(path, R"(, "sink": 2)"), 0).ok());
  ASSERT_TRUE(runner->Steps(2).ok());
  std::filesystem::resize_file(path, 0);
  ASSERT_TRUE(runner->Steps(3).ok());
  EXPECT_THAT(State(*runner), ElementsAre(3 * 1 + 2 * 4, 3 * 2 + 2 * 8));
  EXPECT_EQ(runner->position(), 10);
}

TEST_F(DataFeedTest, FedParametersAreNotSetByHand) {
  const auto runner = Make("[a]");
  ASSERT_TRUE(runner->Feed(Dataset(Powers(8)), 0).ok());
  const absl::Status set = runner->Set({Floats("x", {0, 0})});
  EXPECT_EQ(set.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(set.message()), HasSubstr("x comes from a dataset"));
  ASSERT_TRUE(runner->FillSynthetic(0).ok());
  ASSERT_TRUE(runner->Set({Floats("w", {0, 0})}).ok());
  ASSERT_TRUE(runner->Steps(1).ok());
  EXPECT_THAT(State(*runner), ElementsAre(1, 2));
  // The last batch stays.
  ASSERT_TRUE(runner->Feed("", 0).ok());
  EXPECT_EQ(runner->position(), std::nullopt);
  ASSERT_TRUE(runner->Steps(2).ok());
  EXPECT_THAT(State(*runner), ElementsAre(3, 6));
  ASSERT_TRUE(runner->Set({Floats("x", {0, 0})}).ok());
  ASSERT_TRUE(runner->Steps(1).ok());
  EXPECT_THAT(State(*runner), ElementsAre(3, 6));
}

TEST_F(DataFeedTest, MistakesLeaveNoFeed) {
  const auto runner = Make("[a]");
  const std::string good = Dataset(Powers(8));
  const auto why = [&](const std::string& dataset, int64_t position = 0) {
    EXPECT_TRUE(runner->Feed(good, 0).ok());
    const absl::Status status = runner->Feed(dataset, position);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(why(Dataset("nowhere.npz")), HasSubstr("nowhere.npz: No such"));
  EXPECT_THAT(why("{}"), HasSubstr("lacks \"kind\""));
  EXPECT_THAT(why(good, -1), HasSubstr("position -1 is not in the dataset"));
  EXPECT_THAT(why(R"({"kind": "npz", "files": ["a"],
                      "parameters": {"w": ""}})"),
              HasSubstr("parameter w is state"));
  EXPECT_THAT(why(R"({"kind": "npz", "files": ["a"],
                      "parameters": {"v": ""}})"),
              HasSubstr("no parameter \"v\""));
  EXPECT_THAT(why(Dataset("nowhere.npz")), HasSubstr("nowhere.npz: No such"));
  EXPECT_EQ(runner->position(), std::nullopt);
  // Nothing is trained on what happened to be there before.
  const absl::Status step = runner->Steps(1).status();
  EXPECT_THAT(std::string(step.message()), HasSubstr("\"x\" has no value"));
}

TEST_F(DataFeedTest, FilesThatAreCutShortEndTheSteps) {
  const auto runner = Make("[a]");
  const std::string path = Powers(24);
  ASSERT_TRUE(runner->Feed(Dataset(path), 0).ok());
  ASSERT_TRUE(runner->Steps(1).ok());
  std::filesystem::resize_file(path, 100);
  const absl::Status status = runner->Steps(11).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("powers.npy: was cut short"));
}

}  // namespace
}  // namespace meshwright

#include "meshwright/profile/database.h"

#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"

namespace meshwright {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest()
      : path_(testing::TempDir() + "profile_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() +
              "/deep/profile.db") {
    std::filesystem::remove_all(
        std::filesystem::path(path_).parent_path().parent_path());
  }

  static Cluster Cpu(int64_t devices, int64_t cores) {
    return ParseClusterSpec("cpu:" + std::to_string(devices),
                            {.cores = cores, .memory_bytes = 1 << 30})
        .value();
  }

  // Rates that were measured, unlike any assumption.
  static ProfileEntry Measured(const Cluster& cluster) {
    ProfileEntry entry{.key = KeyOf(cluster),
                       .measured = "2026-11-15T10:42:07Z",
                       .platform = "cpu 1",
                       .rates = AssumedRates(cluster)};
    entry.rates.op_seconds = {7e-6, Origin::kCalibrated};
    entry.rates.memory = {{{1e3, 5e9}}, Origin::kCalibrated};
    entry.rates.levels[0].origin = Origin::kCalibrated;
    entry.rates.levels[0].kinds[0] = {{2, 33e-6, 1e-9}};
    entry.rates.matmul.erase(ElementType::kF64);
    return entry;
  }

  const std::string path_;
};

TEST_F(DatabaseTest, RoundTripAndReplacement) {
  const auto database = ProfileDatabase::Open(path_).value();
  ProfileEntry entry = Measured(Cpu(8, 2));
  const std::vector<Sample> samples = {
      {.what = "memory", .size = 8192, .seconds = 1e-6},
      {.what = "all-reduce", .size = 256, .group = 8, .seconds = 5e-5}};
  ASSERT_TRUE(database->Store(entry, samples).ok());
  entry.rates.op_seconds.value = 8e-6;
  ASSERT_TRUE(database->Store(entry, samples).ok());
  const auto entries = database->Entries().value();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].key, entry.key);
  EXPECT_EQ(entries[0].measured, entry.measured);
  EXPECT_EQ(entries[0].rates, entry.rates);
  EXPECT_THAT(database->Samples(entry.key).value(), ElementsAreArray(samples));
}

TEST_F(DatabaseTest, LoadsWhatWasMeasured) {
  const Cluster cluster = Cpu(8, 2);
  EXPECT_EQ(LoadRates(path_, cluster).value(), AssumedRates(cluster));
  const ProfileEntry entry = Measured(cluster);
  ASSERT_TRUE(ProfileDatabase::Open(path_).value()->Store(entry, {}).ok());
  const Rates rates = LoadRates(path_, cluster).value();
  EXPECT_EQ(rates.op_seconds, entry.rates.op_seconds);
  EXPECT_EQ(rates.levels[0], entry.rates.levels[0]);
  // What was not measured is as assumed.
  EXPECT_EQ(rates.Matmul(ElementType::kF64),
            AssumedRates(cluster).Matmul(ElementType::kF64));
  // Other devices know nothing of it.
  const Cluster gpus = ParseClusterSpec("h200:8", {}).value();
  EXPECT_EQ(LoadRates(path_, gpus).value(), AssumedRates(gpus));
  EXPECT_EQ(LoadRates(path_, Cpu(8, 4)).value(), AssumedRates(Cpu(8, 4)));
}

TEST_F(DatabaseTest, FewerDevicesHaveMoreOfTheMachine) {
  ASSERT_TRUE(ProfileDatabase::Open(path_)
                  .value()
                  ->Store(Measured(Cpu(8, 2)), {})
                  .ok());
  const Rates rates = LoadRates(path_, Cpu(4, 2)).value();
  EXPECT_DOUBLE_EQ(rates.op_seconds.value, 3.5e-6);
  EXPECT_DOUBLE_EQ(rates.memory.At(1e3), 10e9);
  EXPECT_EQ(rates.memory.origin, Origin::kCalibrated);
}

TEST_F(DatabaseTest, RefusesOtherFiles) {
  std::filesystem::create_directories(
      std::filesystem::path(path_).parent_path());
  std::ofstream(path_) << std::string(4096, 'x');
  const auto opened = ProfileDatabase::Open(path_);
  EXPECT_TRUE(absl::IsInvalidArgument(opened.status()));
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr(path_));
  EXPECT_FALSE(LoadRates(path_, Cpu(8, 2)).ok());
}

TEST_F(DatabaseTest, RefusesANewerFormat) {
  ASSERT_TRUE(ProfileDatabase::Open(path_).ok());
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
  sqlite3_exec(handle, "PRAGMA user_version = 9", nullptr, nullptr, nullptr);
  sqlite3_close(handle);
  EXPECT_THAT(std::string(ProfileDatabase::Open(path_).status().message()),
              HasSubstr("newer version"));
}

TEST(KindOfTest, NamesOfPlatforms) {
  EXPECT_EQ(KindOf("NVIDIA H200"), "h200");
  EXPECT_EQ(KindOf("NVIDIA A100-SXM4-80GB"), "a100");
  EXPECT_EQ(KindOf("Radeon"), "");
}

}  // namespace
}  // namespace meshwright

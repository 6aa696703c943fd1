#include "meshwright/runtime/collective_options.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

class CollectiveOptionsTest : public testing::Test {
 protected:
  CollectiveOptionsTest() {
    if (const char* flags = std::getenv("XLA_FLAGS")) before_ = flags;
    unsetenv("XLA_FLAGS");
  }
  ~CollectiveOptionsTest() override {
    setenv("XLA_FLAGS", before_.c_str(), /*overwrite=*/1);
  }

 private:
  std::string before_;
};

constexpr char kScheduler[] = "xla_gpu_enable_latency_hiding_scheduler";

TEST_F(CollectiveOptionsTest, GpusHideLatency) {
  EXPECT_EQ(CollectiveOptions("cuda").at(kScheduler), OptionValue(true));
  EXPECT_FALSE(CollectiveOptions("cpu").contains(kScheduler));
  EXPECT_TRUE(CollectiveOptions("tpu").empty());
}

TEST_F(CollectiveOptionsTest, TheUserSaysOtherwise) {
  setenv("XLA_FLAGS",
         "--xla_dump_to=x --xla_gpu_enable_latency_hiding_scheduler=false", 1);
  EXPECT_TRUE(CollectiveOptions("cuda").empty());
  EXPECT_FALSE(CollectiveOptions("cpu").empty());
}

TEST_F(CollectiveOptionsTest, AreToldAsTheUserWouldGiveThem) {
  const std::string flags = ToFlags(CollectiveOptions("cuda"));
  EXPECT_EQ(flags, "--xla_gpu_enable_latency_hiding_scheduler=true");
  EXPECT_EQ(ToFlags(CollectiveOptions("cpu")),
            "--xla_disable_hlo_passes=cpu-all-reduce-combiner");
  EXPECT_EQ(ToFlags({{"a", false}, {"b", int64_t{7}}, {"c", 0.5}}),
            "--a=false --b=7 --c=0.5");
  EXPECT_EQ(ToFlags({}), "");
  // What was told, given back, leaves nothing to set.
  setenv("XLA_FLAGS", flags.c_str(), 1);
  EXPECT_EQ(ToFlags(CollectiveOptions("cuda")), "");
}

}  // namespace
}  // namespace meshwright

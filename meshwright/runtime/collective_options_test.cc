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

}  // namespace
}  // namespace meshwright

#include "meshwright/engine/seen_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "meshwright/engine/cpu_plugin_for_test.h"

namespace meshwright {
namespace {

// As compilers count them.
int64_t Counted() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  return CPU_COUNT(&set);
}

TEST(SeenCoresTest, AreSeenByOneThreadWhileItLasts) {
  const int64_t real = Counted();
  EXPECT_EQ(CoreCount(), real);
  {
    const SeenCores outer(9);
    {
      const SeenCores inner(64);
      EXPECT_EQ(Counted(), 64);
      EXPECT_EQ(CoreCount(), 64);
      int64_t beside = 0;
      std::thread([&] { beside = Counted(); }).join();
      EXPECT_EQ(beside, real);
    }
    EXPECT_EQ(Counted(), 9);
  }
  EXPECT_EQ(Counted(), real);
}

TEST(SeenCoresTest, ASetThatIsTooSmallIsRefusedAsTheKernelDoes) {
  const SeenCores seen(1025);
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(CoreCount(), 1025);
}

// In how many parts the compiler divides a loop that is limited by memory, on a
// machine of `cores` cores that `devices` virtual devices share; 0: in none.
int Parts(int64_t cores, int devices) {
  const SeenCores seen(cores);
  const auto client = *CpuPlugin().CreateClient({.cpu_devices = devices});
  const auto executable = client->Compile({"mlir", R"(
      func.func @main(%x: tensor<1024x4096xf32>) -> tensor<1024x4096xf32> {
        %y = stablehlo.add %x, %x : tensor<1024x4096xf32>
        return %y : tensor<1024x4096xf32>
      })"}, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!executable.ok()) return -1;
  const std::string text = (*executable)->OptimizedProgram()->code;
  const std::string key = R"("outer_dimension_partitions":[")";
  const size_t at = text.find(key);
  return at == std::string::npos ? 0 : std::atoi(&text[at + key.size()]);
}

TEST(SeenCoresTest, LoopsHaveAPartForEachCoreOfADevice) {
  EXPECT_EQ(Parts(2, 1), 2);
  EXPECT_EQ(Parts(8, 1), 8);
  EXPECT_EQ(Parts(8, 2), 4);
}

}  // namespace
}  // namespace meshwright

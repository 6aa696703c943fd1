#include "meshwright/checkpoint/crc32c.h"

#include <random>
#include <string>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(Crc32cTest, IsThatOfTheStandard) {
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(SlowCrc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(Crc32c("", 0), 0u);
  // RFC 3720, B.4.
  EXPECT_EQ(Crc32c(std::string(32, '\0').data(), 32), 0x8a9136aau);
}

TEST(Crc32cTest, FastIsSlowAndPartsAreTheWhole) {
  std::mt19937 random(1);
  std::string bytes(100'000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (int i = 0; i < 200; ++i) {
    const size_t begin = random() % 1000;
    const size_t size = random() % (bytes.size() - begin);
    const size_t part = size == 0 ? 0 : random() % size;
    const uint32_t want = SlowCrc32c(bytes.data() + begin, size);
    ASSERT_EQ(Crc32c(bytes.data() + begin, size), want);
    const uint32_t first = Crc32c(bytes.data() + begin, part);
    ASSERT_EQ(Crc32c(bytes.data() + begin + part, size - part, first), want);
  }
}

}  // namespace
}  // namespace meshwright

#include "meshwright/base/shared_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/memfd_for_test.h"
#include "meshwright/base/message_for_test.h"

namespace meshwright {
namespace {

constexpr int64_t kBytes = int64_t{1} << 33;  // Most of it is never there.

TEST(SharedMemoryTest, BothSidesSeeIt) {
  const int fd = MakeMemfdForTest(kBytes);
  const auto memory = SharedMemory::Open(::dup(fd));
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ((*memory)->size(), kBytes);
  EXPECT_EQ(::pwrite(fd, "abc", 3, 5000), 3);
  const auto bytes = (*memory)->Find(5001, 2);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ((*bytes)[0], std::byte{'b'});
  (*bytes)[1] = std::byte{'d'};
  char found[3] = {};
  EXPECT_EQ(::pread(fd, found, 3, 5000), 3);
  EXPECT_EQ(std::string(found, 3), "abd");
  // It cannot be taken away.
  EXPECT_NE(::ftruncate(fd, 0), 0);
  ::close(fd);
  EXPECT_EQ((*bytes)[1], std::byte{'d'});
}

TEST(SharedMemoryTest, OnlyWhatIsThereIsFound) {
  const auto memory = SharedMemory::Open(MakeMemfdForTest(kBytes)).value();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE(memory->Find(0, kBytes).ok());
  EXPECT_TRUE(memory->Find(kBytes, 0).ok());
  EXPECT_EQ(MessageOf(memory->Find(1, kBytes).status()),
            "shared memory has 8589934592 bytes, not 8589934592 from byte 1");
  for (const auto& [offset, size] : {std::pair{int64_t{-1}, int64_t{1}},
                                     {0, -1},
                                     {kMax, 1},
                                     {1, kMax},
                                     {kMax, kMax},
                                     {kMin, kMin},
                                     {kMin, kMax},
                                     {kBytes, 1}}) {
    EXPECT_FALSE(memory->Find(offset, size).ok()) << offset << " " << size;
  }
}

TEST(SharedMemoryTest, OtherFilesAreRefused) {
  const int open_memory = MakeMemfdForTest(kBytes, 0);  // May be cut short.
  const int empty = MakeMemfdForTest(0, F_SEAL_SHRINK);
  const int file = ::open("/proc/self/exe", O_RDONLY);
  for (const int fd : {open_memory, empty, file, -1, 1 << 20}) {
    EXPECT_EQ(SharedMemory::Open(fd).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  // They are closed all the same.
  EXPECT_EQ(::fcntl(file, F_GETFD), -1);
}

}  // namespace
}  // namespace meshwright

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>

namespace meshwright {
namespace {

// The file that holds the code at `address`.
std::string FileOf(void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fname : "";
}

TEST(OldGlibcTest, WhatGlibc234LacksIsInTheProgram) {
  const std::string self = FileOf(reinterpret_cast<void*>(&FileOf));
  EXPECT_EQ(FileOf(reinterpret_cast<void*>(&arc4random)), self);
  EXPECT_EQ(FileOf(reinterpret_cast<void*>(&_dl_find_object)), self);
}

TEST(OldGlibcTest, FindsTheTablesOfCodeHereAndInLibraries) {
  dl_find_object found{};
  for (void* code :
       {reinterpret_cast<void*>(&FileOf), dlsym(RTLD_DEFAULT, "qsort")}) {
    ASSERT_EQ(_dl_find_object(code, &found), 0);
    EXPECT_LE(found.dlfo_map_start, code);
    EXPECT_GT(found.dlfo_map_end, code);
    EXPECT_NE(found.dlfo_eh_frame, nullptr);
  }
  int on_the_stack = 0;
  EXPECT_EQ(_dl_find_object(&on_the_stack, &found), -1);
}

// Called by libc, so an exception from here passes frames of two objects.
int Throwing(const void*, const void*) { throw std::runtime_error("thrown"); }

TEST(OldGlibcTest, ExceptionsAreCaught) {
  int values[] = {2, 1};
  EXPECT_THROW(std::qsort(values, 2, sizeof(int), Throwing),
               std::runtime_error);
}

TEST(OldGlibcTest, RandomNumbersDiffer) {
  std::random_device device;
  const uint64_t first = (uint64_t{device()} << 32) | device();
  const uint64_t second = (uint64_t{device()} << 32) | device();
  EXPECT_NE(first, second);
  EXPECT_NE((uint64_t{arc4random()} << 32) | arc4random(), first);
}

}  // namespace
}  // namespace meshwright

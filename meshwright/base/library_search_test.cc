#include "meshwright/base/library_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace meshwright {
namespace {

namespace fs = std::filesystem;

class LibrarySearchTest : public testing::Test {
 protected:
  LibrarySearchTest()
      : root_(fs::path(testing::TempDir()) /
              ("library_search_test." + std::to_string(getpid()))) {}
  ~LibrarySearchTest() override { fs::remove_all(root_); }

  fs::path root_;
};

TEST_F(LibrarySearchTest, LargerNumbersComeFirst) {
  for (const char* name : {"python3.9", "python3.11", "python3.10", "other"}) {
    fs::create_directories(root_ / name);
  }
  EXPECT_THAT(EntriesByNumber(root_, "python3"),
              testing::ElementsAre(root_ / "python3.11", root_ / "python3.10",
                                   root_ / "python3.9"));
  EXPECT_THAT(EntriesByNumber(root_ / "absent", ""), testing::IsEmpty());
}

TEST_F(LibrarySearchTest, ProgramsOfPackagesLookAmongTheirNeighbours) {
  const fs::path packages = root_ / "site-packages";
  const fs::path program = packages / "meshwright" / "bin" / "meshwright";
  fs::create_directories(program.parent_path());
  EXPECT_EQ(PackagesAround(program), "");  // A folder, not a package.
  std::ofstream(packages / "meshwright" / "__init__.py") << "";
  EXPECT_EQ(PackagesAround(program), packages.native());
  EXPECT_EQ(PackagesAround(""), "");
}

TEST_F(LibrarySearchTest, LooksWhereTheEnvironmentPoints) {
  const fs::path packages = root_ / "lib" / "python3.12" / "site-packages";
  fs::create_directories(packages);
  const char* const set = std::getenv("CONDA_PREFIX");
  const std::string before = set == nullptr ? "" : set;
  setenv("CONDA_PREFIX", root_.c_str(), 1);
  const LibrarySearch search = LibrarySearch::OfThisProcess();
  set == nullptr ? unsetenv("CONDA_PREFIX")
                 : setenv("CONDA_PREFIX", before.c_str(), 1);
  EXPECT_THAT(search.packages, testing::Contains(packages.native()));
  // Beside the executable, and in ../lib from there.
  EXPECT_EQ(search.libraries.size(), 2);
  EXPECT_EQ(fs::path(search.libraries[1]).filename(), "lib");
}

}  // namespace
}  // namespace meshwright

#include "meshwright/checkpoint/save_folder.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "gmock/gmock.h"
#include "meshwright/checkpoint/checkpoint_for_test.h"
#include "meshwright/checkpoint/reader.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class SaveFolderTest : public CheckpointTest {
 protected:
  void SaveStep(int64_t step) {
    Save({Random("w", ElementType::kF32, {4, 4})}, step, 2);
  }
  int64_t Entries() const {
    return std::distance(fs::directory_iterator(directory_),
                         fs::directory_iterator());
  }
};

TEST_F(SaveFolderTest, TheLastOnesAreKept) {
  for (const int64_t step : {10, 20, 30, 123456789}) SaveStep(step);
  EXPECT_THAT(*ListSteps(directory_), ElementsAre(10, 20, 30, 123456789));
  // What is no complete checkpoint stays, and does not count.
  fs::create_directory(directory_ + "/step_00000040");
  fs::create_directory(directory_ + "/step_x");
  ASSERT_TRUE(KeepLast(directory_, 2).ok());
  EXPECT_THAT(*ListSteps(directory_), ElementsAre(30, 123456789));
  EXPECT_EQ(Entries(), 4);
  EXPECT_EQ(*FindCheckpoint(directory_), directory_ + "/step_123456789");
  EXPECT_EQ(*FindCheckpoint(directory_ + "/step_00000030"),
            directory_ + "/step_00000030");
}

TEST_F(SaveFolderTest, AStepThatIsSavedAgainTakesThePlace) {
  SaveStep(10);
  const auto before = CheckpointReader::Open(directory_).value()->manifest();
  SaveStep(10);
  const auto after = CheckpointReader::Open(directory_).value();
  EXPECT_NE(after->manifest(), before);
  EXPECT_TRUE(after->Verify().ok());
  EXPECT_EQ(Entries(), 1);
}

TEST_F(SaveFolderTest, WhatIsNotCommittedGoes) {
  SaveStep(10);
  {
    const auto folder = SaveFolder::Create(directory_, 20).value();
    // Another one saves at the same time: it leaves this alone.
    const auto other = SaveFolder::Create(directory_, 20).value();
    EXPECT_EQ(Entries(), 3);
    EXPECT_THAT(*ListSteps(directory_), ElementsAre(10));
    Manifest manifest{.files = {{.name = "shard-00000.safetensors"}}};
    EXPECT_THAT(std::string(folder->Commit(manifest).message()),
                HasSubstr("a folder that all hosts share"));
  }
  EXPECT_EQ(Entries(), 1);
}

TEST_F(SaveFolderTest, LeftoversOfDeadProcessesGo) {
  SaveStep(10);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto folder = SaveFolder::Create(directory_, 20);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(Entries(), 2);
  SaveStep(30);
  EXPECT_EQ(Entries(), 2);
  EXPECT_THAT(*ListSteps(directory_), ElementsAre(10, 30));
}

TEST_F(SaveFolderTest, AFullDiskIsAnErrorAndLeavesNothing) {
  SaveStep(10);
  const Tensor tensor = Random("w", ElementType::kU8, {1 << 20});
  const TensorInfo info{tensor.name, tensor.type, tensor.dimensions};
  struct rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit limit = before;
  limit.rlim_cur = 1 << 18;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  absl::Status status;
  {
    const auto folder = SaveFolder::Create(directory_, 20).value();
    status =
        WriteShardFile(folder->path(), {info},
                       {.name = "shard-00000.safetensors",
                        .entries = {{0, TensorRegion::Whole(info.dimensions)}}},
                       [&](const FilePlan::Entry&) -> absl::StatusOr<HostBox> {
                         return HostBox{.data = tensor.data.data(),
                                        .box = {info.dimensions, {0}}};
                       })
            .status();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("shard-00000.safetensors: No space left"));
  EXPECT_EQ(Entries(), 1);
  EXPECT_TRUE(CheckpointReader::Open(directory_).value()->Verify().ok());
}

TEST_F(SaveFolderTest, MistakesAreNamed) {
  EXPECT_EQ(FindCheckpoint(directory_).status().code(),
            absl::StatusCode::kNotFound);
  fs::create_directory(directory_);
  EXPECT_THAT(std::string(FindCheckpoint(directory_).status().message()),
              HasSubstr("no complete checkpoint"));
}

}  // namespace
}  // namespace meshwright

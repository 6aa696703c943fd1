#include "meshwright/launch/start_workers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/file.h"

namespace meshwright {
namespace {

// Programs that stand for meshwright and ssh.
class StartWorkersTest : public testing::Test {
 protected:
  StartWorkersTest() {
    folder_ = absl::StrCat(testing::TempDir(), "workers_test.", ::getpid());
    std::filesystem::create_directory(folder_);
  }
  ~StartWorkersTest() override { std::filesystem::remove_all(folder_); }

  std::string Script(const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(folder_, "/", name);
    EXPECT_TRUE(WriteFileAtomically(path, "#!/bin/sh\n" + text + "\n").ok());
    ::chmod(path.c_str(), 0755);
    return path;
  }
  std::string Log(int rank) {
    return ReadFile(absl::StrCat(folder_, "/worker-", rank, ".log")).value();
  }

  std::string folder_;
};

TEST_F(StartWorkersTest, ProcessesHere) {
  const auto workers = StartLocalWorkers(
      2, {.program = Script("meshwright", "echo $MW_A: \"$@\""),
          .join = "127.0.0.1:7777",
          .devices = 4,
          .platform = "cpu",
          .environment = {{"MW_A", "a"}},
          .log_folder = folder_});
  ASSERT_TRUE(workers.ok()) << workers.status();
  EXPECT_TRUE(AwaitWorkers(*workers, absl::Seconds(10)).ok());
  EXPECT_EQ(Log(1),
            "a: worker --join 127.0.0.1:7777 --rank 1 --devices 4 --platform "
            "cpu\n");
}

TEST_F(StartWorkersTest, OneBySshOnEachHost) {
  Cluster cluster;
  cluster.hosts = {{.address = "gpu01:7070", .devices = 8},
                   {.address = "gpu02:7070", .devices = 8}};
  const auto workers = StartSshWorkers(
      cluster, {.program = Script("meshwright", "echo \"$@\""),
                .join = "gpu01:7777",
                .log_folder = folder_,
                .ssh = {Script("ssh",
                               "while [ $1 != -- ]; do shift; done; "
                               "echo to $2; exec sh -c \"$3\"")}});
  ASSERT_TRUE(workers.ok()) << workers.status();
  EXPECT_TRUE(AwaitWorkers(*workers, absl::Seconds(10)).ok());
  EXPECT_EQ(Log(1),
            "to gpu02\nworker --join gpu01:7777 --rank 1 --devices 8\n");
  cluster.hosts[1].address = "";
  EXPECT_FALSE(StartSshWorkers(cluster, {}).ok());
}

TEST_F(StartWorkersTest, WhenOneDiesTheOthersEnd) {
  const std::string program =
      Script("meshwright", "[ $5 = 1 ] && kill -9 $$; exec sleep 60");
  const auto workers =
      StartLocalWorkers(3, {.program = program, .join = "127.0.0.1:7777"});
  ASSERT_TRUE(workers.ok());
  const absl::Status status = AwaitWorkers(*workers, absl::Seconds(10));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "worker 1: killed by signal 9 (SIGKILL)");
  EXPECT_EQ((*workers)[2]->Wait(absl::ZeroDuration())->signal, SIGTERM);
}

TEST_F(StartWorkersTest, TheFirstToDieIsNamed) {
  const std::string program =
      Script("meshwright", "[ $5 = 2 ] || sleep 0.3; exit 1$5");
  const auto workers =
      StartLocalWorkers(3, {.program = program, .join = "127.0.0.1:7777"});
  ASSERT_TRUE(workers.ok());
  for (const auto& worker : *workers) worker->Wait(absl::InfiniteDuration());
  EXPECT_EQ(AwaitWorkers(*workers, absl::Seconds(10)).message(),
            "worker 2: exit code 12");
}

TEST_F(StartWorkersTest, AllOrNone) {
  const auto workers =
      StartLocalWorkers(3, {.program = "/nowhere/meshwright", .join = "x:1"});
  EXPECT_EQ(workers.status().message(),
            "cannot run /nowhere/meshwright: No such file or directory");
}

TEST_F(StartWorkersTest, RayRunsOurPythonPackage) {
  Cluster cluster;
  cluster.device.kind = "h200";
  cluster.hosts = {{.devices = 8}, {.devices = 8}};
  ::setenv("MESHWRIGHT_PYTHON", Script("python", "echo \"$@\"; exit 3").c_str(),
           /*overwrite=*/1);
  testing::internal::CaptureStderr();
  const auto workers = StartRayWorkers("auto", cluster, {.join = "gpu01:7777"});
  ASSERT_TRUE(workers.ok());
  EXPECT_EQ(AwaitWorkers(*workers, absl::Seconds(10)).message(),
            "ray: exit code 3");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "-m meshwright.launch_ray --address auto --workers 2 --gpus 8 -- "
            "meshwright worker --join gpu01:7777 --devices 8\n");
  ::unsetenv("MESHWRIGHT_PYTHON");
}

}  // namespace
}  // namespace meshwright

// Malformed requests against both services: the server survives, keeps its
// memory, and answers honest requests afterwards.
#include <arpa/inet.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/base/is_long_for_test.h"
#include "meshwright/base/memfd_for_test.h"
#include "meshwright/service/channel.h"
#include "meshwright/service/fuzz_requests_for_test.h"
#include "meshwright/service/job_client.h"
#include "meshwright/service/jobs_for_test.h"
#include "meshwright/service/joined_for_test.h"
#include "meshwright/service/peak_memory_for_test.h"

namespace meshwright {
namespace {

constexpr int kThreads = 16;  // Some requests wait.
constexpr int kRequestsPerThread = 750;
constexpr int kConnections = 400;
constexpr int64_t kMaxGrowthBytes = int64_t{128} << 20;

// Calls one method after another, waiting for each operation.
class FuzzClient {
 public:
  FuzzClient(const std::string& address, unsigned seed)
      : random_(seed), stub_(OpenChannel(address, {}).value()) {}

  void Call() {
    const FuzzRequest request = MakeFuzzRequest(random_);
    grpc::ClientContext context;
    if (request.protocol) AddCredentials({}, context);
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(200));
    const auto stream = stub_.PrepareCall(&context, request.method, &queue_);
    stream->StartCall(this);
    bool ok = Done();
    for (const std::string& message : request.messages) {
      if (!ok) break;
      const grpc::Slice slice(message);
      const grpc::ByteBuffer buffer(&slice, 1);
      stream->Write(buffer, this);
      ok = Done();
    }
    if (request.cancel) {
      context.TryCancel();
    } else if (request.half_close && ok) {
      stream->WritesDone(this);
      ok = Done();
    }
    for (int reads = 0; reads < 3 && ok; ++reads) {
      grpc::ByteBuffer reply;
      stream->Read(&reply, this);
      ok = Done();
    }
    if (ok) context.TryCancel();
    grpc::Status status;
    stream->Finish(&status, this);
    Done();
    ++(status.ok() ? accepted : refused);
  }

  int accepted = 0;
  int refused = 0;

 private:
  // Waits for the operation under way.
  bool Done() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  std::mt19937 random_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
};

// What does not even speak HTTP/2, or stops doing so.
void SendRubbish(int port, std::mt19937& random) {
  static const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  static const std::string kSettings("\0\0\0\4\0\0\0\0\0", 9);
  // A header frame for stream 1 that claims 16 MiB.
  static const std::string kHuge("\xff\xff\xff\1\4\0\0\0\1", 9);
  std::string bytes(random() % 300, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  switch (random() % 4) {
    case 0:
      break;
    case 1:
      bytes = kPreface.substr(0, random() % kPreface.size());
      break;
    case 2:
      bytes = kPreface + kSettings + bytes;
      break;
    default:
      bytes = kPreface + kSettings + kHuge + bytes;
  }
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0) {
    (void)!::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  ::close(socket);
}

// Takes workers in, and forgets them when they are lost.
class Host {
 public:
  Host() {
    auto started = WorkerServer::Start(
        {.on_join =
             [this](std::unique_ptr<WorkerLink> l) { Keep(std::move(l)); },
         .store = &store_,
         .hello_timeout = absl::Milliseconds(500),
         .jobs = &jobs_,
         .max_upload_bytes = int64_t{64} << 20,
         .memory = SharedMemory::Open(MakeMemfdForTest(1 << 20)).value()});
    server_ = std::move(started).value();
  }
  int port() const { return server_->port(); }
  int joined() const { return joined_; }
  int lent() const { return jobs_.lent_count; }

 private:
  void Keep(std::unique_ptr<WorkerLink> link) {
    ++joined_;
    proto::WorkerCommand welcome;
    welcome.mutable_welcome()->set_name("worker");
    (void)link->Send(welcome);  // It may be gone already.
    auto kept = std::make_shared<std::unique_ptr<WorkerLink>>(std::move(link));
    (*kept)->Start({.report = [](proto::WorkerReport) {},
                    .lost = [kept](absl::Status) { kept->reset(); }});
  }

  MemoryStoreForTest store_;
  JobsForTest jobs_;
  std::atomic<int> joined_ = 0;
  std::unique_ptr<WorkerServer> server_;  // Ends first.
};

void ExpectHonestAnswers(const std::string& address) {
  auto worker = JoinCoordinator({.address = address});
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_EQ((*worker)->Next()->welcome().name(), "worker");
  EXPECT_TRUE((*worker)->store().Set("honest", "value").ok());
  EXPECT_EQ(*(*worker)->store().Get("honest", absl::Seconds(5)), "value");
  auto client = ConnectJobs({.address = address});
  ASSERT_TRUE(client.ok()) << client.status();
  JobCall call;
  EXPECT_EQ(*(*client)->Plan({"m", "c", "o"}, call), "{\"plan\": \"m|c|o\"}");
}

// Other requests each time.
int Rounds() { return IsLong() ? 20 : 1; }

TEST(FuzzTest, MalformedRequestsDoNoHarm) {
  Host host;
  const std::string address = absl::StrCat("127.0.0.1:", host.port());
  ExpectHonestAnswers(address);
  const int64_t before = MemoryBytes("VmRSS:");
  const int64_t threads_before = ThreadCount();
  std::atomic<int> refused = 0;
  std::atomic<int> accepted = 0;
  for (int round = 0; round < Rounds(); ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, seed = round * kThreads + i] {
        FuzzClient client(address, seed);
        for (int n = 0; n < kRequestsPerThread; ++n) client.Call();
        refused += client.refused;
        accepted += client.accepted;
      });
    }
    std::mt19937 random(round);
    for (int i = 0; i < kConnections; ++i) SendRubbish(host.port(), random);
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(refused + accepted, Rounds() * kThreads * kRequestsPerThread);
  // The generator reaches what it should.
  EXPECT_GT(refused, accepted);
  EXPECT_GT(accepted, 100);
  EXPECT_GT(host.joined(), 100);
  EXPECT_GT(host.lent(), 0);
  ExpectHonestAnswers(address);
  if (kMemoryIsMeasured) {
    EXPECT_LT(MemoryBytes("VmRSS:") - before, kMaxGrowthBytes);
  }
  // Every link's thread has ended.
  for (int i = 0; i < 100 && ThreadCount() > threads_before + 20; ++i) {
    absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_LE(ThreadCount(), threads_before + 20);
  RecordProperty("accepted", accepted);
  RecordProperty("joined", host.joined());
}

}  // namespace
}  // namespace meshwright

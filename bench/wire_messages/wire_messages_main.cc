// Times messages from one process to another, and back. Run once for each side,
// with one empty folder for both to find each other:
//
//   message_bench --rank 0 --store /tmp/store --bytes 1048576 &
//   message_bench --rank 1 --store /tmp/store --bytes 1048576
//
// An array is copied into a message and sent, and copied out of what arrives,
// as devices with memory of their own do. Worker 0 prints {"bytes": 1048576,
// "microseconds": 312.5, "processor": 420.1}: for one way, both processes.
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/element_type.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/wire/file_key_value_store.h"
#include "meshwright/wire/gloo_wire.h"
#include "meshwright/wire/wire.h"

namespace meshwright {
namespace {

struct Arguments {
  int rank = 0;
  std::string store;
  int64_t bytes = 0;
  int64_t repeat = 50;
  bool tcp = false;
};

absl::StatusOr<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view name = argv[i];
    if (name == "--tcp") {
      arguments.tcp = true;
      continue;
    }
    const std::string value = i + 1 < argc ? argv[++i] : "";
    bool good = !value.empty();
    if (name == "--rank") {
      good = absl::SimpleAtoi(value, &arguments.rank);
    } else if (name == "--repeat") {
      good = absl::SimpleAtoi(value, &arguments.repeat);
    } else if (name == "--bytes") {
      good = absl::SimpleAtoi(value, &arguments.bytes);
    } else if (name == "--store") {
      arguments.store = value;
    } else {
      good = false;
    }
    if (!good) {
      return absl::InvalidArgumentError(
          absl::StrCat("what is ", name, " ", value, "?"));
    }
  }
  return arguments;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) * 1e-6;
}

double ProcessorSeconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return Seconds(used.ru_utime) + Seconds(used.ru_stime);
}

// There and back.
absl::Status Rally(Wire& wire, int64_t step, std::vector<std::byte>& array) {
  const int other = 1 - wire.rank();
  const auto send = [&] {
    MessageMemory memory = wire.Allocate(other, array.size());
    std::memcpy(memory.bytes.data(), array.data(), array.size());
    return wire.Send(other, {.step = step},
                     {memory.bytes, std::move(memory.owner)});
  };
  const std::unique_ptr<Arrival> arrival =
      wire.Receive(other, {.step = step}, array.size());
  if (wire.rank() == 0) MW_RETURN_IF_ERROR(send());
  MW_RETURN_IF_ERROR(arrival->Await());
  std::memcpy(array.data(), arrival->bytes().bytes.data(), array.size());
  return wire.rank() == 1 ? send() : absl::OkStatus();
}

absl::Status Run(const Arguments& arguments) {
  FileKeyValueStore store(arguments.store);
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Wire> wire,
                      ConnectGlooWire({.rank = arguments.rank,
                                       .names = {"worker 0", "worker 1"},
                                       .store = &store,
                                       .shared_memory = !arguments.tcp}));
  MW_ASSIGN_OR_RETURN(Group * group, wire->GroupOf({0, 1}));
  std::vector<std::byte> array(arguments.bytes);
  constexpr int64_t kWarmUp = 5;
  double seconds = 0;
  double processor = 0;
  for (int64_t step = 0; step < arguments.repeat + kWarmUp; ++step) {
    if (step == kWarmUp) {
      processor = ProcessorSeconds();
      seconds = -std::chrono::duration<double>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count();
    }
    MW_RETURN_IF_ERROR(Rally(*wire, step, array));
  }
  seconds += std::chrono::duration<double>(
                 std::chrono::steady_clock::now().time_since_epoch())
                 .count();
  processor = ProcessorSeconds() - processor;
  MW_RETURN_IF_ERROR(group->AllReduce(
      ReduceOp::kSum, ElementType::kF64,
      {reinterpret_cast<std::byte*>(&processor), sizeof(processor)}, 0));
  if (arguments.rank == 0) {
    const double ways = 2 * static_cast<double>(arguments.repeat);
    std::printf(
        "{\"bytes\": %lld, \"microseconds\": %.1f, \"processor\": %.1f}\n",
        static_cast<long long>(arguments.bytes), seconds / ways * 1e6,
        processor / ways * 1e6);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  const auto arguments = meshwright::Parse(argc, argv);
  const absl::Status status =
      arguments.ok() ? meshwright::Run(*arguments) : arguments.status();
  if (status.ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return EXIT_FAILURE;
}

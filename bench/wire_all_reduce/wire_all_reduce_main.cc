// Times all-reduces over a wire. Run once for each worker, with one empty
// folder for all of them to find each other:
//
//   wire_bench --rank 0 --size 2 --store /tmp/store --bytes 1048576 &
//   wire_bench --rank 1 --size 2 --store /tmp/store --bytes 1048576
//
// Worker 0 prints {"bytes": 1048576, "size": 2, "microseconds": 312.5}.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "meshwright/base/element_type.h"
#include "meshwright/base/median.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/wire/file_key_value_store.h"
#include "meshwright/wire/gloo_wire.h"
#include "meshwright/wire/group.h"
#include "meshwright/wire/wire.h"

namespace meshwright {
namespace {

struct Arguments {
  int rank = 0;
  int size = 1;
  std::string store;
  std::vector<int64_t> bytes;  // One after another.
  int repeat = 50;
  ElementType type = ElementType::kF32;
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
    } else if (name == "--size") {
      good = absl::SimpleAtoi(value, &arguments.size);
    } else if (name == "--repeat") {
      good = absl::SimpleAtoi(value, &arguments.repeat);
    } else if (name == "--store") {
      arguments.store = value;
    } else if (name == "--bytes") {
      for (const absl::string_view part : absl::StrSplit(value, ',')) {
        good &= absl::SimpleAtoi(part, &arguments.bytes.emplace_back());
      }
    } else if (name == "--type") {
      const auto type = ParseElementType(value);
      good = type.has_value();
      if (good) arguments.type = *type;
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

absl::StatusOr<double> TimeAllReduce(Group& group, const Arguments& arguments,
                                     int64_t bytes) {
  std::vector<std::byte> data(bytes);
  std::vector<double> times;
  for (int i = 0; i < arguments.repeat + 3; ++i) {
    std::byte ready = {};
    MW_RETURN_IF_ERROR(group.AllReduce(ReduceOp::kMax, ElementType::kU8,
                                       absl::MakeSpan(&ready, 1), 0));
    const auto start = std::chrono::steady_clock::now();
    MW_RETURN_IF_ERROR(group.AllReduce(ReduceOp::kSum, arguments.type,
                                       absl::MakeSpan(data), 1));
    const std::chrono::duration<double, std::micro> time =
        std::chrono::steady_clock::now() - start;
    if (i >= 3) times.push_back(time.count());
  }
  return Median(times);
}

absl::Status Run(const Arguments& arguments) {
  FileKeyValueStore store(arguments.store);
  std::vector<std::string> names;
  std::vector<int> ranks;
  for (int rank = 0; rank < arguments.size; ++rank) {
    names.push_back(absl::StrCat("worker ", rank));
    ranks.push_back(rank);
  }
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Wire> wire,
                      ConnectGlooWire({.rank = arguments.rank,
                                       .names = names,
                                       .store = &store,
                                       .shared_memory = !arguments.tcp}));
  MW_ASSIGN_OR_RETURN(Group * group, wire->GroupOf(ranks));
  for (const int64_t bytes : arguments.bytes) {
    MW_ASSIGN_OR_RETURN(const double median,
                        TimeAllReduce(*group, arguments, bytes));
    if (arguments.rank == 0) {
      std::printf("{\"bytes\": %lld, \"size\": %d, \"microseconds\": %.1f}\n",
                  static_cast<long long>(bytes), arguments.size, median);
    }
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

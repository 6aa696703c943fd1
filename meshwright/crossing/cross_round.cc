#include "meshwright/crossing/cross_round.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/cross_places.h"
#include "meshwright/crossing/cross_steps.h"
#include "meshwright/crossing/metered_group.h"
#include "meshwright/wire/reduce.h"

namespace meshwright {
namespace {

absl::Status Run(CrossKind kind, const CrossSteps& steps) {
  switch (kind) {
    case CrossKind::kAllReduce:
      return steps.AllReduce();
    case CrossKind::kReduceScatter:
      return steps.ReduceScatter();
    case CrossKind::kAllGather:
      return steps.AllGather();
    case CrossKind::kAllToAll:
      return steps.AllToAll();
    case CrossKind::kPermute:
      return steps.Permute();
    case CrossKind::kBroadcast:
      return steps.Broadcast();
  }
  return absl::InternalError("unknown kind of collective");
}

}  // namespace

void CrossTrafficMeter::Add(int64_t bytes, double seconds) {
  bytes_ += bytes;
  nanoseconds_ += static_cast<int64_t>(seconds * 1e9);
}

CrossTraffic CrossTrafficMeter::traffic() const {
  return {.bytes_sent = bytes_,
          .seconds_waited = static_cast<double>(nanoseconds_) * 1e-9,
          .rounds = rounds_};
}

int64_t CrossArrays::Array::bytes() const {
  int64_t bytes = HostBytes(type);
  for (const int64_t size : dimensions) bytes *= size;
  return bytes;
}

void SetZero(const CrossMember& member, const CrossArrays& arrays) {
  for (size_t a = 0; a < member.results.size(); ++a) {
    const int64_t bytes = arrays.results[a].bytes();
    if (bytes > 0) std::memset(member.results[a], 0, bytes);
  }
}

const CrossMember* CrossSteps::Find(size_t position) const {
  for (const CrossMember& member : round.members) {
    if (member.position == position) return &member;
  }
  return nullptr;
}

void CrossSteps::CopyFirstResults() const {
  const CrossMember& first = round.members[0];
  for (size_t i = 1; i < round.members.size(); ++i) {
    for (size_t a = 0; a < first.results.size(); ++a) {
      const CrossArrays::Array& array = round.arrays->results[a];
      CopyBlock(Whole(first.results[a], array),
                Whole(round.members[i].results[a], array));
    }
  }
}

BlockView Whole(std::byte* data, const CrossArrays::Array& array) {
  return DenseBlock(data, 1, array.bytes());
}

BlockView Cut(std::byte* data, const CrossArrays::Array& array,
              int64_t dimension, size_t index, size_t count) {
  int64_t rows = 1;
  for (int64_t i = 0; i < dimension; ++i) rows *= array.dimensions[i];
  if (rows == 0) return {};
  const int64_t stride = array.bytes() / rows;
  const int64_t row_bytes = stride / static_cast<int64_t>(count);
  return {data + row_bytes * static_cast<int64_t>(index), rows, stride,
          row_bytes};
}

absl::Status CheckArrays(const CrossCall& call, const CrossArrays& arrays) {
  const auto bad = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(Name(call.kind), ": ", what));
  };
  if (arrays.operands.size() != arrays.results.size() ||
      (arrays.operands.empty() && !call.groups.empty())) {
    return bad("needs one result for each array");
  }
  for (size_t i = 0; i < arrays.operands.size(); ++i) {
    const CrossArrays::Array& operand = arrays.operands[i];
    const CrossArrays::Array& result = arrays.results[i];
    if (operand.type != result.type) return bad("the result has another type");
    if (Reduces(call.kind)) {
      MW_RETURN_IF_ERROR(CheckReduces(call.op, operand.type));
    }
    for (const CrossGroup& group : call.groups) {
      const int64_t size = std::ssize(group.members);
      const int64_t times = call.kind == CrossKind::kAllGather ? size : 1;
      const int64_t parts = call.kind == CrossKind::kReduceScatter ? size : 1;
      if (operand.bytes() * times != result.bytes() * parts) {
        return bad("the result has another size");
      }
      const bool by_member =
          call.kind == CrossKind::kAllToAll && call.dimension < 0;
      if (by_member && std::ssize(arrays.operands) != size) {
        return bad("needs one array for each member");
      }
    }
    if (call.dimension >= std::ssize(operand.dimensions)) {
      return bad(absl::StrCat("has no dimension ", call.dimension));
    }
  }
  return absl::OkStatus();
}

absl::Status RunCrossRound(const CrossRound& round, Wire& wire,
                           CrossTrafficMeter& meter) {
  if (round.places->is_alone()) return Run(round.call->kind, {.round = round});
  MW_ASSIGN_OR_RETURN(Group * processes, wire.GroupOf(round.places->processes));
  MeteredGroup group(processes, round.group->tag, &meter);
  meter.CountRound();
  return Run(round.call->kind, {.round = round, .group = &group});
}

}  // namespace meshwright

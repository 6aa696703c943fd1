#include "meshwright/hlo/scan_numbers.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "meshwright/hlo/computation.h"

namespace meshwright {
namespace {

using ::google::protobuf::internal::WireFormatLite;
using ::google::protobuf::io::CodedInputStream;

// Whether `slice` is `whole` without dimension `dimension`.
bool IsSliceOf(const std::vector<int64_t>& slice,
               const std::vector<int64_t>& whole, int64_t dimension) {
  if (whole.size() != slice.size() + 1) return false;
  std::vector<int64_t> rest = whole;
  rest.erase(rest.begin() + dimension);
  return rest == slice;
}

// How many of `shapes` have the dimension; these must come first. -1 if any
// shape is neither the slice nor a stack of slices.
int32_t CountWhole(const std::vector<const Shape*>& shapes,
                   const ScanNumbers& numbers) {
  int32_t count = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i]->IsArray()) return -1;
    const std::vector<int64_t>& dimensions = shapes[i]->dimensions;
    if (IsSliceOf(numbers.slice, dimensions, numbers.dimension)) {
      if (count != static_cast<int32_t>(i)) return -1;
      ++count;
    } else if (dimensions != numbers.slice) {
      return -1;
    }
  }
  return count;
}

}  // namespace

ScanFields ScanFieldsOf(const Instruction& scan) {
  ScanFields fields;
  const std::string& bytes = scan.unknown_fields;
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
  while (const uint32_t tag = stream.ReadTag()) {
    uint64_t* into = nullptr;
    if (WireFormatLite::GetTagWireType(tag) ==
        WireFormatLite::WIRETYPE_VARINT) {
      switch (WireFormatLite::GetTagFieldNumber(tag)) {
        case 94:
          into = &fields.is_reverse;
          break;
        case 95:
          into = &fields.num_carries;
          break;
        case 96:
          into = &fields.is_associative;
          break;
        default:
          break;
      }
    }
    const bool is_read = into != nullptr
                             ? stream.ReadVarint64(into)
                             : WireFormatLite::SkipField(&stream, tag);
    if (!is_read) return fields;
  }
  return fields;
}

std::optional<ScanNumbers> ScanNumbersOf(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kScan || instruction.called.size() != 1 ||
      instruction.attributes->dimensions.size() != 1 ||
      instruction.operands.empty() || !instruction.operand_shape(0).IsArray()) {
    return std::nullopt;
  }
  ScanNumbers numbers{.dimension = instruction.attributes->dimensions[0],
                      .slice = instruction.operand_shape(0).dimensions,
                      .is_reverse = ScanFieldsOf(instruction).is_reverse != 0};
  if (numbers.dimension < 0 || numbers.dimension >= std::ssize(numbers.slice)) {
    return std::nullopt;
  }
  numbers.slice.erase(numbers.slice.begin() + numbers.dimension);
  std::vector<const Shape*> operands;
  for (const Instruction* operand : instruction.operands) {
    operands.push_back(&operand->shape);
  }
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  numbers.inputs = CountWhole(operands, numbers);
  numbers.outputs = CountWhole(results, numbers);
  const auto carried = [](size_t all, int32_t whole) {
    return static_cast<int32_t>(all) - whole;
  };
  if (numbers.inputs < 1 || numbers.outputs < 0 ||
      carried(operands.size(), numbers.inputs) !=
          carried(results.size(), numbers.outputs)) {
    return std::nullopt;
  }
  return numbers;
}

}  // namespace meshwright

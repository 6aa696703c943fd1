// Emits the instructions of a per-device program.
//
// A thin layer: each call adds one instruction (or returns an equal scalar made
// before) and infers its shape. Values that differ between devices come from
// DeviceTable; communication from the collectives.
#ifndef MESHWRIGHT_PROGRAM_LOCAL_BUILDER_H_
#define MESHWRIGHT_PROGRAM_LOCAL_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/program/program.h"

namespace meshwright {

class LocalBuilder {
 public:
  // Emits into `computation`, which is in `program`'s module. Both must outlive
  // it.
  LocalBuilder(LocalProgram* program, Computation* computation);

  const Mesh& mesh() const { return program_->mesh; }
  LocalProgram& program() { return *program_; }
  Computation* computation() const { return computation_; }
  // The original instruction that the following ones belong to; they take their
  // names and metadata from it.
  void set_source(const Instruction* source) { source_ = source; }
  const Instruction* source() const { return source_; }

  Instruction* Add(Opcode opcode, Shape shape,
                   std::vector<Instruction*> operands,
                   Attributes attributes = {});
  // A copy of `like` with another shape and operands. Called computations are
  // copied into the program once.
  Instruction* Clone(const Instruction& like, Shape shape,
                     std::vector<Instruction*> operands);

  // A scalar constant from its little-endian bytes.
  Instruction* Scalar(ElementType type, std::string bytes);
  // Scalars. The value must be representable.
  Instruction* Constant(ElementType type, double value);
  Instruction* Identity(Reduction reduction, ElementType type);
  // Whether `value` is a scalar constant that is the identity of the reduction.
  static bool IsIdentity(const Instruction& value, Reduction reduction);
  Instruction* Broadcast(Instruction* scalar,
                         absl::Span<const int64_t> dimensions);
  // Dimension i of `value` becomes dimension `mapping[i]` of the result.
  Instruction* BroadcastInDim(Instruction* value,
                              absl::Span<const int64_t> dimensions,
                              absl::Span<const int64_t> mapping);
  Instruction* Iota(ElementType type, absl::Span<const int64_t> dimensions,
                    int64_t dimension);
  Instruction* Unary(Opcode opcode, Instruction* value);
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b);
  Instruction* Compare(const char* direction, Instruction* a, Instruction* b);
  Instruction* Select(Instruction* predicate, Instruction* a, Instruction* b);
  Instruction* Convert(ElementType type, Instruction* value);
  Instruction* Combine(Reduction reduction, Instruction* a, Instruction* b);

  Instruction* Reshape(Instruction* value, std::vector<int64_t> dimensions);
  Instruction* Transpose(Instruction* value, std::vector<int64_t> permutation);
  Instruction* Slice(Instruction* value, int64_t dimension, int64_t start,
                     int64_t limit, int64_t stride = 1);
  Instruction* Pad(Instruction* value, Instruction* fill, int64_t dimension,
                   int64_t low, int64_t high);
  Instruction* Concatenate(std::vector<Instruction*> values, int64_t dimension);
  // `size` elements of one dimension from `start` (s32 scalar).
  Instruction* DynamicSlice(Instruction* value, int64_t dimension,
                            Instruction* start, int64_t size);
  Instruction* DynamicUpdateSlice(Instruction* value, Instruction* update,
                                  int64_t dimension, Instruction* start);
  Instruction* Reverse(Instruction* value, int64_t dimension);
  Instruction* Tuple(std::vector<Instruction*> values);
  Instruction* GetTupleElement(Instruction* tuple, int64_t index);
  // Reduces dimensions of one array, starting from the identity of the
  // reduction.
  Instruction* Reduce(Reduction reduction, Instruction* value,
                      std::vector<int64_t> dimensions);

  // Sets the device number, an s32[] of the computation, to be used instead of
  // partition-id: for "devices" that are points in time.
  void set_device(Instruction* device) { scalars_["device"] = given_ = device; }
  Instruction* device() const { return given_; }  // Null if not given.
  // s32[]: values[d] on device d.
  Instruction* DeviceTable(absl::Span<const int64_t> values);
  // s32[]: the position of this device along `axes`.
  Instruction* AxisIndex(const AxisList& axes);
  // pred[]: AxisIndex(axes) == 0.
  Instruction* IsLeader(const AxisList& axes);
  // pred of `dimensions`, true where the index along `dimension` plus
  // AxisIndex(axes) times its size is below `bound`.
  Instruction* InBounds(absl::Span<const int64_t> dimensions, int64_t dimension,
                        const AxisList& axes, int64_t bound);

  // Collectives among devices that differ only along `axes`; blocks are in the
  // order of AxisIndex(axes). Without axes: the value itself.
  Instruction* AllReduce(Instruction* value, Reduction reduction,
                         const AxisList& axes);
  Instruction* ReduceScatter(Instruction* value, Reduction reduction,
                             const AxisList& axes, int64_t dimension);
  Instruction* AllGather(Instruction* value, const AxisList& axes,
                         int64_t dimension);
  // Splits along `split`, sends block i to device i, concatenates what is
  // received along `join`.
  Instruction* AllToAll(Instruction* value, const AxisList& axes, int64_t split,
                        int64_t join);
  // Pairs of devices (from, to), each device at most once on either side; a
  // device to which nothing is sent gets zeros.
  Instruction* CollectivePermute(
      Instruction* value,
      std::vector<std::pair<int64_t, int64_t>> source_target_pairs);

 private:
  Instruction* AddCollective(Opcode opcode, Shape shape, Instruction* value,
                             const AxisList& axes, Attributes attributes);

  LocalProgram* program_;
  Computation* computation_;
  const Instruction* source_ = nullptr;
  Instruction* given_ = nullptr;
  absl::flat_hash_map<std::string, Instruction*> scalars_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_LOCAL_BUILDER_H_

#include "meshwright/runtime/tile_mover.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/write_module.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {
namespace {

Shape ShapeOf(const Buffer& buffer) {
  return Shape::Array(buffer.shape().type, buffer.shape().dimensions);
}

// A program (array) -> tile.
Module SliceProgram(const Shape& shape, const Tile& tile) {
  LocalProgram program("slice_out", *Mesh::Parse("1"));
  Computation* entry = program.module.AddComputation("entry");
  LocalBuilder builder(&program, entry);
  Instruction* value = entry->AddParameter(shape, program.UniqueName("array"));
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    value = builder.Slice(value, dim, tile.from_start[dim],
                          tile.from_start[dim] + tile.sizes[dim]);
  }
  entry->set_root(value);
  program.module.set_entry(entry);
  program.module.Finish();
  return std::move(program.module);
}

// A program (tiles) -> array.
Module PutTogether(const std::vector<const Tile*>& tiles, const Shape& shape) {
  LocalProgram program("put_together", *Mesh::Parse("1"));
  Computation* entry = program.module.AddComputation("entry");
  LocalBuilder builder(&program, entry);
  std::vector<Instruction*> parts;
  for (const Tile* tile : tiles) {
    parts.push_back(
        entry->AddParameter(Shape::Array(shape.element_type, tile->sizes),
                            program.UniqueName("tile")));
  }
  Instruction* array = builder.Broadcast(
      builder.Constant(shape.element_type, 0), shape.dimensions);
  for (size_t i = 0; i < tiles.size(); ++i) {
    std::vector<Instruction*> operands = {array, parts[i]};
    for (const int64_t start : tiles[i]->to_start) {
      operands.push_back(
          builder.Constant(ElementType::kS32, static_cast<double>(start)));
    }
    array =
        builder.Add(Opcode::kDynamicUpdateSlice, shape, std::move(operands));
  }
  entry->set_root(array);
  program.module.set_entry(entry);
  program.module.Finish();
  return std::move(program.module);
}

absl::StatusOr<BufferPtr> RunOn(Executable& executable,
                                const std::vector<BufferPtr>& arguments) {
  std::vector<Buffer*> pointers;
  for (const BufferPtr& argument : arguments) {
    pointers.push_back(argument.get());
  }
  MW_ASSIGN_OR_RETURN(Execution run, executable.ExecuteSingle(pointers));
  return std::move(run.outputs[0][0]);
}

}  // namespace

absl::StatusOr<BufferPtr> TileMover::SliceOut(const Buffer& from,
                                              const Tile& tile) {
  MW_ASSIGN_OR_RETURN(
      Executable* const slice,
      Compiled(SliceProgram(ShapeOf(from), tile), from.device()));
  // Execute only reads the argument.
  Buffer* const argument = const_cast<Buffer*>(&from);
  MW_ASSIGN_OR_RETURN(Execution run, slice->ExecuteSingle({&argument, 1}));
  return std::move(run.outputs[0][0]);
}

absl::StatusOr<BufferPtr> TileMover::Fetch(const Buffer& from, const Tile& tile,
                                           const Device& to) {
  if (tile.sizes == from.shape().dimensions) return from.CopyTo(to);
  MW_ASSIGN_OR_RETURN(const BufferPtr slice, SliceOut(from, tile));
  return slice->CopyTo(to);
}

absl::StatusOr<BufferPtr> TileMover::Assemble(
    std::vector<BufferPtr> parts, const std::vector<const Tile*>& tiles,
    const Shape& shape, const Device& device) {
  if (parts.size() == 1 && tiles[0]->sizes == shape.dimensions) {
    return std::move(parts[0]);
  }
  MW_ASSIGN_OR_RETURN(Executable* const join,
                      Compiled(PutTogether(tiles, shape), device));
  return RunOn(*join, parts);
}

absl::StatusOr<Executable*> TileMover::Compiled(const Module& module,
                                                const Device& device) {
  MW_ASSIGN_OR_RETURN(std::string code, WriteModule(module));
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Executable>& program = programs_[{device.id(), code}];
  if (program == nullptr) {
    CompileOptions options;
    options.device_ids = {device.id()};
    MW_ASSIGN_OR_RETURN(
        program,
        client_->Compile({.format = "hlo", .code = std::move(code)}, options));
  }
  return program.get();
}

}  // namespace meshwright

#include "meshwright/profile/loop_program.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/profile/loop_builder.h"

namespace meshwright {
namespace {

constexpr int kDotsInATurn = 2;
// Pairs of small kernels without dependences, as in the update of many
// parameters.
constexpr int kPairs = 32;
constexpr int64_t kSmall = 64;

// Groups of consecutive devices, or of devices `devices / group` apart.
std::vector<std::vector<int64_t>> Groups(int64_t group, int64_t devices,
                                         bool apart = false) {
  const int64_t count = devices / group;
  std::vector<std::vector<int64_t>> groups(count);
  for (int64_t device = 0; device < devices; ++device) {
    groups[apart ? device % count : device / group].push_back(device);
  }
  return groups;
}

Instruction* Collect(LoopBuilder& build, MoveKind kind, Instruction* x,
                     int64_t group, int64_t devices, bool apart = false) {
  Shape shape = x->shape;
  if (kind == MoveKind::kAllGather) shape.dimensions[0] *= group;
  if (kind == MoveKind::kReduceScatter) shape.dimensions[0] /= group;
  Instruction* made = build.Add(OpcodeOf(kind), shape, {x});
  Attributes& attributes = made->attributes.mutate();
  attributes.channel_id = 0;
  if (ReducesAcrossDevices(made->opcode)) {
    made->called = {build.Adder(shape.element_type)};
  }
  if (kind != MoveKind::kPermute) {
    attributes.replica_groups = Groups(group, devices, apart);
    if (kind != MoveKind::kAllReduce) attributes.dimensions = {0};
    return made;
  }
  for (const std::vector<int64_t>& members : Groups(group, devices, apart)) {
    for (int64_t i = 0; i < group; ++i) {
      attributes.source_target_pairs.push_back(
          {members[i], members[(i + 1) % group]});
    }
  }
  return made;
}

}  // namespace

// A product with numbers of variance 1 / size has about the magnitude of its
// other factor. It is slightly larger here, since subnormal numbers are slow on
// CPUs.
LoopProgram MatmulLoop(ElementType type, int64_t size) {
  const Shape square = Shape::Array(type, {size, size});
  LoopProgram loop =
      MakeLoop({square, square}, kDotsInATurn,
               [&](LoopBuilder& build, std::vector<Instruction*> values) {
                 Instruction* x = values[0];
                 for (int i = 0; i < kDotsInATurn; ++i) {
                   x = build.Add(Opcode::kDot, square, {x, values[1]});
                   x->attributes.mutate().dot = DotDimensionNumbers{
                       .lhs_contracting = {1}, .rhs_contracting = {0}};
                 }
                 return x;
               });
  loop.scale = 1.02 * std::sqrt(3.0 / static_cast<double>(size));
  return loop;
}

LoopProgram MemoryLoop(int64_t elements) {
  const Shape shape = Shape::Array(ElementType::kF32, {elements});
  return MakeLoop(
      {shape}, 1, [&](LoopBuilder& build, std::vector<Instruction*> values) {
        Instruction* square =
            build.Add(Opcode::kMultiply, shape, {values[0], values[0]});
        return build.Add(Opcode::kAdd, shape, {square, values[0]});
      });
}

LoopProgram EmptyLoop() {
  const Shape shape = Shape::Array(ElementType::kF32, {1});
  return MakeLoop({shape}, 1,
                  [&](LoopBuilder& build, std::vector<Instruction*> values) {
                    return build.Add(Opcode::kNegate, shape, {values[0]});
                  });
}

LoopProgram SmallKernelLoop() {
  const Shape square = Shape::Array(ElementType::kF32, {kSmall, kSmall});
  const Shape row = Shape::Array(ElementType::kF32, {kSmall});
  return MakeLoop(
      std::vector<Shape>(kPairs, square), 2 * kPairs,
      [&](LoopBuilder& build, std::vector<Instruction*> values) {
        Instruction* zero = build.Constant(Literal::Scalar(0.0f));
        Computation* adder = build.Adder(ElementType::kF32);
        Instruction* total = nullptr;
        for (int pair = 0; pair < kPairs; ++pair) {
          Instruction* x =
              build.Add(Opcode::kMultiply, square, {values[pair], values[0]});
          Instruction* sum = build.Add(Opcode::kReduce, row, {x, zero});
          sum->called = {adder};
          sum->attributes.mutate().dimensions = {1};
          total = total == nullptr ? sum
                                   : build.Add(Opcode::kAdd, row, {total, sum});
        }
        Instruction* back = build.Add(Opcode::kBroadcast, square, {total});
        back->attributes.mutate().dimensions = {0};
        return back;
      });
}

LoopProgram ArgumentProgram(int64_t count) {
  const Shape shape = Shape::Array(ElementType::kF32, {kSmall});
  LoopProgram program{Module("arguments"), {}, 1};
  program.arguments.assign(count, shape);
  Computation* entry = program.module.AddComputation("main");
  LoopBuilder build(program.module, *entry);
  entry->AddParameter(Shape::Scalar(ElementType::kS32), "turns");
  std::vector<Instruction*> arguments;
  for (int64_t i = 0; i < count; ++i) {
    arguments.push_back(
        entry->AddParameter(shape, absl::StrCat("argument.", i)));
  }
  std::vector<Instruction*> results;
  for (Instruction* argument : arguments) {
    results.push_back(build.Add(Opcode::kNegate, shape, {argument}));
  }
  build.Add(Opcode::kTuple, Shape::Tuple(program.arguments), results);
  program.module.set_entry(entry);
  program.module.Finish();
  return program;
}

LoopProgram ArithmeticLoop(int64_t elements) {
  const Shape shape = Shape::Array(ElementType::kF32, {elements});
  const Shape scalar = Shape::Scalar(ElementType::kF32);
  return MakeLoop(
      {shape, shape, shape, scalar, scalar}, 1,
      [&](LoopBuilder& build, std::vector<Instruction*> values) {
        const auto add = [&](Opcode opcode,
                             std::vector<Instruction*> operands) {
          return build.Add(opcode, shape, std::move(operands));
        };
        const auto constant = [&](float value) {
          return add(Opcode::kBroadcast,
                     {build.Constant(Literal::Scalar(value))});
        };
        const auto decayed = [&](Instruction* old, Instruction* by,
                                 float rate) {
          return add(Opcode::kAdd,
                     {add(Opcode::kMultiply, {old, constant(rate)}),
                      add(Opcode::kMultiply, {by, constant(1 - rate)})});
        };
        const auto corrected = [&](Instruction* moment, Instruction* by) {
          return add(Opcode::kDivide, {moment, add(Opcode::kBroadcast, {by})});
        };
        // Not another array: what is the same in every iteration is computed
        // once.
        Instruction* gradient = values[0];
        Instruction* square = add(Opcode::kMultiply, {gradient, gradient});
        Instruction* mean =
            corrected(decayed(values[1], gradient, 0.9f), values[3]);
        Instruction* variance =
            corrected(decayed(values[2], square, 0.999f), values[4]);
        Instruction* scale = add(
            Opcode::kAdd, {add(Opcode::kSqrt, {variance}), constant(1e-8f)});
        Instruction* step =
            add(Opcode::kMultiply,
                {add(Opcode::kDivide, {mean, scale}), constant(1e-3f)});
        return add(Opcode::kSubtract, {values[0], step});
      });
}

LoopProgram TransposeLoop(int64_t rows, int64_t columns) {
  const Shape shape = Shape::Array(ElementType::kF32, {rows, columns});
  const Shape turned = Shape::Array(ElementType::kF32, {columns, rows});
  return MakeLoop({shape}, 1,
                  [&](LoopBuilder& build, std::vector<Instruction*> values) {
                    Instruction* transpose =
                        build.Add(Opcode::kTranspose, turned, {values[0]});
                    transpose->attributes.mutate().dimensions = {1, 0};
                    return build.Add(Opcode::kReshape, shape, {transpose});
                  });
}

LoopProgram SumsLoop(int64_t rows, int64_t columns, bool transposed,
                     int64_t devices) {
  const Shape shape = Shape::Array(ElementType::kF32, {rows, columns});
  const Shape other =
      transposed ? Shape::Array(ElementType::kF32, {columns, rows}) : shape;
  std::vector<Shape> arguments = {Shape::Array(ElementType::kF32, {kSmall})};
  arguments.insert(arguments.end(), kSums, shape);
  arguments.insert(arguments.end(), kSums, other);
  return MakeLoopOf(
      arguments, kSums,
      [&](LoopBuilder& build, const std::vector<Instruction*>& values) {
        std::vector<Instruction*> made = {values[0]};
        if (devices > 1) {
          made[0] =
              Collect(build, MoveKind::kAllReduce, values[0], devices, devices);
        }
        for (int i = 1; i <= kSums; ++i) {
          Instruction* added = values[kSums + i];
          if (transposed) {
            added = build.Add(Opcode::kTranspose, shape, {added});
            added->attributes.mutate().dimensions = {1, 0};
          }
          made.push_back(build.Add(Opcode::kAdd, shape, {values[i], added}));
        }
        return made;
      });
}

LoopProgram TanhLoop(int64_t elements) {
  const Shape shape = Shape::Array(ElementType::kF32, {elements});
  return MakeLoop({shape}, 1,
                  [&](LoopBuilder& build, std::vector<Instruction*> values) {
                    return build.Add(Opcode::kTanh, shape, {values[0]});
                  });
}

LoopProgram CollectiveLoop(MoveKind kind, int64_t elements, int64_t group,
                           int64_t devices) {
  MW_CHECK(devices % group == 0 && elements % group == 0);
  const Shape shape =
      kind == MoveKind::kAllToAll
          ? Shape::Array(ElementType::kF32, {group, elements / group})
          : Shape::Array(ElementType::kF32, {elements});
  return MakeLoop(
      {shape}, 2, [&](LoopBuilder& build, std::vector<Instruction*> values) {
        Instruction* x = values[0];
        for (const bool apart : {false, true}) {
          Instruction* y = Collect(build, kind, x, group, devices, apart);
          // Back to the shape at the start of an iteration, at little cost.
          if (kind == MoveKind::kAllGather) {
            y = build.Add(Opcode::kSlice, shape, {y});
            y->attributes.mutate().slice = {{.start = 0, .limit = elements}};
          } else if (kind == MoveKind::kReduceScatter) {
            Instruction* zero = build.Constant(Literal::Scalar(int32_t{0}));
            y = build.Add(Opcode::kDynamicUpdateSlice, shape, {x, y, zero});
          }
          x = y;
        }
        return x;
      });
}

LoopProgram ArraysLoop(int64_t arrays, int64_t elements, int64_t devices) {
  const Shape shape = Shape::Array(ElementType::kF32, {elements});
  return MakeLoop(
      {shape}, 1, [&](LoopBuilder& build, std::vector<Instruction*> values) {
        // Different arrays, since compilers merge equal ones.
        std::vector<Instruction*> operands = {values[0]};
        while (std::ssize(operands) < arrays) {
          operands.push_back(
              build.Add(Opcode::kAdd, shape, {operands.back(), values[0]}));
        }
        const std::vector<Shape> shapes(arrays, shape);
        Instruction* sums =
            build.Add(Opcode::kAllReduce, Shape::Tuple(shapes), operands);
        sums->attributes.mutate().channel_id = 0;
        sums->attributes.mutate().replica_groups = Groups(devices, devices);
        sums->called = {build.Adder(ElementType::kF32)};
        Instruction* total = build.Element(sums, 0);
        for (int64_t i = 1; i < arrays; ++i) {
          total =
              build.Add(Opcode::kAdd, shape, {total, build.Element(sums, i)});
        }
        return total;
      });
}

LoopProgram LayersLoop(int64_t layers) {
  const Shape square = Shape::Array(ElementType::kF32, {kSmall, kSmall});
  const Shape row = Shape::Array(ElementType::kF32, {kSmall});
  return MakeLoop(
      std::vector<Shape>(layers + 1, square), 1,
      [&](LoopBuilder& build, std::vector<Instruction*> values) {
        Instruction* zero = build.Constant(Literal::Scalar(0.0f));
        Computation* adder = build.Adder(ElementType::kF32);
        Instruction* x = values[0];
        for (int64_t layer = 1; layer <= layers; ++layer) {
          Instruction* dot =
              build.Add(Opcode::kDot, square, {x, values[layer]});
          dot->attributes.mutate().dot = DotDimensionNumbers{
              .lhs_contracting = {1}, .rhs_contracting = {0}};
          Instruction* sum = build.Add(Opcode::kReduce, row, {dot, zero});
          sum->called = {adder};
          sum->attributes.mutate().dimensions = {1};
          Instruction* back = build.Add(Opcode::kBroadcast, square, {sum});
          back->attributes.mutate().dimensions = {0};
          x = build.Add(Opcode::kSubtract, square, {dot, back});
          x = build.Add(Opcode::kTanh, square, {x});
        }
        return x;
      });
}

}  // namespace meshwright

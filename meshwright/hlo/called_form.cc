// The computations an instruction calls, as attributes of HLO text.
#include <array>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/attribute_form.h"

namespace meshwright::internal {
namespace {

constexpr auto kWhile = std::to_array({Opcode::kWhile});
constexpr auto kConditional = std::to_array({Opcode::kConditional});
constexpr auto kSelectAndScatter = std::to_array({Opcode::kSelectAndScatter});

Computation* ReadComputation(AttributeText& text) {
  const size_t start = text.lexer.position();
  const absl::string_view name = text.lexer.Name("the name of a computation");
  const auto found = text.computations.find(name);
  if (found != text.computations.end()) return found->second;
  text.lexer.FailAt(start,
                    absl::StrCat("there is no computation '", name, "' above"));
  return nullptr;
}

// The called computation at this index of the schema's list.
template <size_t place>
void ReadOne(AttributeText& text) {
  std::vector<Computation*>& called = text.Wrapped().called;
  if (called.size() <= place) called.resize(place + 1, nullptr);
  called[place] = ReadComputation(text);
}

void ReadAll(AttributeText& text) {
  text.lexer.List("{", "}", [&] {
    text.Wrapped().called.push_back(ReadComputation(text));
  });
}

void ReadOfAsync(AttributeText& text) {
  text.instruction.called = {ReadComputation(text)};
}

// The schema lists a while's body first, the text its condition.
constexpr AttributeForm kCalledForms[] = {
    {"condition", ReadOne<1>, kWhile, true},
    {"body", ReadOne<0>, kWhile, true},
    {"true_computation", ReadOne<0>, kConditional},
    {"false_computation", ReadOne<1>, kConditional},
    {"branch_computations", ReadAll, kConditional},
    {"select", ReadOne<0>, kSelectAndScatter, true},
    {"scatter", ReadOne<1>, kSelectAndScatter, true},
    {"calls", ReadOne<0>, kFusion, true},
    {"calls", ReadOfAsync, kAsync},
    {"to_apply", ReadOne<0>, kCall, true},
    {"to_apply", ReadOne<0>},
    {"called_computations", ReadAll},
};

}  // namespace

absl::Span<const AttributeForm> CalledForms() { return kCalledForms; }

}  // namespace meshwright::internal

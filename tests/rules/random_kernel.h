// Test support: random kernels (letter_kernel.h) and the rules that users would
// write for them.
#ifndef MESHWRIGHT_TESTS_RULES_RANDOM_KERNEL_H_
#define MESHWRIGHT_TESTS_RULES_RANDOM_KERNEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "meshwright/base/element_type.h"
#include "tests/rules/letter_kernel.h"
#include "tests/rules/one_op.h"

namespace meshwright {

struct RandomKernel {
  KernelLetters letters;
  std::map<char, int64_t> sizes;
  std::vector<ElementType> operand_types;
  std::vector<ElementType> result_types;
  // Of operands, minor dimension first; without constraint if empty.
  std::vector<std::vector<int64_t>> layouts;
  std::string reduction;  // "sum", "max", ...

  // Letters that are not plainly kept. Results without a reduced one are
  // reduced over it; what is in results only is whole and not named here.
  std::string reduced;
  std::string whole;
  std::string apart;
  // The first dimensions of every tensor.
  std::string leading;

  // How the rule is written.
  bool shardy = false;
  std::string prefix;     // Before letters, in names.
  std::string said;       // Letters whose size is said; in Shardy's form all.
  std::string left_open;  // Of `whole`, those that need no word.
};

RandomKernel DrawKernel(Random& random);

// As in frontend attribute `mw.rule`, or Shardy's.
std::string RuleText(const RandomKernel& kernel);

// The custom call, with its rule.
OneOp CallOf(const RandomKernel& kernel);

// Of one to three axes and at most eight devices: "a=2,b=3".
std::string RandomMesh(Random& random);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_RANDOM_KERNEL_H_

// Changes what a loop carries.
//
//   LoopTuple tuple(around, loop, names);
//   const int64_t w = tuple.Share(weights);    // the same in every iteration
//   const int64_t s = tuple.Add(zeros);        // starts as zeros
//   tuple.set_next(s, Update(tuple.Element(s)));
//   tuple.Drop(3);
//   tuple.Finish();                            // then PutInOrder(*around)
//
// Numbers of elements stay what they are until Finish.
#ifndef MESHWRIGHT_REMAT_LOOP_TUPLE_H_
#define MESHWRIGHT_REMAT_LOOP_TUPLE_H_

#include <cstdint>
#include <set>
#include <vector>

#include "meshwright/hlo/module.h"
#include "meshwright/remat/again.h"

namespace meshwright {

bool IsElementOf(const Instruction& instruction, const Instruction* tuple);

// Operands before their users, otherwise in the present order, new
// instructions just before their first user. What nothing needs is dropped,
// but for what does something besides.
void PutInOrder(Computation& computation);

class LoopTuple {
 public:
  // The loop starts from a tuple, its body ends with one; those of all three
  // computations are only used element by element; nobody else has the body and
  // the condition.
  LoopTuple(Computation& around, Instruction& loop, AgainNames& names);

  Computation& body() const { return body_; }
  // A new element; unless it is given another next value, it stays.
  int64_t Add(Instruction* start);
  // An element that is always this value; one that is there, if possible.
  int64_t Share(Instruction* value);
  // Its value in the body.
  Instruction* Element(int64_t element);
  void set_next(int64_t element, Instruction* next);
  // Nothing may use it, but to hand it on.
  void Drop(int64_t element) { dropped_.insert(element); }
  // Its value after the loop. The number is right after Finish.
  Instruction* After(int64_t element);

  // Puts the loop's own computations in order, not the one around.
  void Finish();

 private:
  void Renumber(Computation& computation, const Instruction* tuple,
                const std::vector<int64_t>& numbers);
  Instruction* AddElement(Computation& computation, Instruction* tuple,
                          const Shape& shape, int64_t element);

  Computation& around_;
  Instruction& loop_;
  Computation& body_;
  AgainNames& names_;
  Instruction* const parameter_;
  std::vector<Instruction*> start_;
  std::vector<Instruction*> next_;  // In the body.
  std::set<int64_t> dropped_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_LOOP_TUPLE_H_

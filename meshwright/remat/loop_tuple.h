// Edits the loop-carried values of a while loop.
//
//   LoopTuple tuple(around, loop, names);
//   const int64_t w = tuple.Share(weights);    // Loop-invariant.
//   const int64_t s = tuple.Add(zeros);        // Initially zeros.
//   tuple.set_next(s, Update(tuple.Element(s)));
//   tuple.Drop(3);
//   tuple.Finish();                            // Then PutInOrder(*around).
//
// Element numbers do not change until Finish.
#ifndef MESHWRIGHT_REMAT_LOOP_TUPLE_H_
#define MESHWRIGHT_REMAT_LOOP_TUPLE_H_

#include <cstdint>
#include <set>
#include <vector>

#include "meshwright/hlo/module.h"
#include "meshwright/remat/rematerializable.h"

namespace meshwright {

bool IsElementOf(const Instruction& instruction, const Instruction* tuple);

// Sorts a computation topologically: keeps the present order where possible,
// and puts new instructions just before their first user. Removes dead
// instructions without side effects.
void PutInOrder(Computation& computation);

class LoopTuple {
 public:
  // Requires: the loop's operand and the body's root are tuple instructions;
  // the tuples of all three computations are only used element by element; the
  // body and the condition have no other caller.
  LoopTuple(Computation& around, Instruction& loop, RematNames& names);

  Computation& body() const { return body_; }
  // Adds an element with this initial value. Unless set_next is called, it is
  // loop-invariant.
  int64_t Add(Instruction* start);
  // An element that always has this value; an existing one if possible.
  int64_t Share(Instruction* value);
  // Its value in the body.
  Instruction* Element(int64_t element);
  void set_next(int64_t element, Instruction* next);
  // Removes an element. Requires: it is only passed on.
  void Drop(int64_t element) { dropped_.insert(element); }
  // Its value after the loop. The element number in it is correct after Finish.
  Instruction* After(int64_t element);

  // Sorts the loop's own computations, not the surrounding one.
  void Finish();

 private:
  void Renumber(Computation& computation, const Instruction* tuple,
                const std::vector<int64_t>& numbers);
  Instruction* AddElement(Computation& computation, Instruction* tuple,
                          const Shape& shape, int64_t element);

  Computation& around_;
  Instruction& loop_;
  Computation& body_;
  RematNames& names_;
  Instruction* const parameter_;
  std::vector<Instruction*> start_;
  std::vector<Instruction*> next_;  // In the body.
  std::set<int64_t> dropped_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_LOOP_TUPLE_H_

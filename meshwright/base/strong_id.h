// Integers of different kinds that cannot be mistaken for each other.
//
//   using OpId = StrongId<struct OpIdTag>;
//   using ValueId = StrongId<struct ValueIdTag>;
//
//   OpId op(3);
//   ops[op];             // An id is an index
//   OpId next = op + 1;  // and counts as one; 0 unless it is given a number.
//
// An id becomes an integer by itself, an integer an id only where the code says
// so, and an id of one kind never one of another: `op = 3`, `value = op`,
// `ValueId(op)`, `op == value` and `op - value` do not compile.
#ifndef MESHWRIGHT_BASE_STRONG_ID_H_
#define MESHWRIGHT_BASE_STRONG_ID_H_

#include <compare>
#include <concepts>
#include <cstdint>
#include <utility>

namespace meshwright {

template <typename Tag, std::signed_integral Int = int32_t>
class StrongId {
 public:
  constexpr StrongId() = default;
  // A template, so that another kind does not come in by way of its integer.
  template <std::integral Number>
  constexpr explicit StrongId(Number number)
      : number_(static_cast<Int>(number)) {}

  constexpr operator Int() const { return number_; }

  constexpr auto operator<=>(const StrongId&) const = default;

  constexpr StrongId& operator++() { return ++number_, *this; }
  constexpr StrongId& operator--() { return --number_, *this; }
  constexpr StrongId operator++(int) { return StrongId(number_++); }
  constexpr StrongId operator--(int) { return StrongId(number_--); }

  template <std::integral Number>
  friend constexpr StrongId operator+(StrongId id, Number number) {
    return StrongId(id.number_ + static_cast<Int>(number));
  }
  template <std::integral Number>
  friend constexpr StrongId operator-(StrongId id, Number number) {
    return StrongId(id.number_ - static_cast<Int>(number));
  }

  template <typename H>
  friend H AbslHashValue(H h, StrongId id) {
    return H::combine(std::move(h), id.number_);
  }

 private:
  Int number_ = 0;
};

// Without these, two kinds would meet as the integers they become.
template <typename A, typename B, typename I, typename J>
requires(!std::same_as<A, B>) bool operator==(StrongId<A, I>,
                                              StrongId<B, J>) = delete;
template <typename A, typename B, typename I, typename J>
requires(!std::same_as<A, B>) std::strong_ordering operator<=>(
    StrongId<A, I>, StrongId<B, J>) = delete;
template <typename A, typename B, typename I, typename J>
requires(!std::same_as<A, B>) I operator-(StrongId<A, I>,
                                          StrongId<B, J>) = delete;
template <typename A, typename B, typename I, typename J>
I operator+(StrongId<A, I>, StrongId<B, J>) = delete;

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_STRONG_ID_H_

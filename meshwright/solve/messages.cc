#include "meshwright/solve/messages.h"

#include <algorithm>

#include "meshwright/solve/min_plus.h"

namespace meshwright {

Passes::Passes(const Core& core, const std::vector<double>& unary)
    : core_(core), unary_(unary) {
  int32_t widest = 0;
  for (int32_t v = 0; v < core.nodes; ++v) {
    int32_t earlier = 0;
    for (const CoreLink& link : core.Links(v)) earlier += link.other < v;
    const auto links = static_cast<int32_t>(core.Links(v).size());
    weight_.push_back(1.0 / std::max({earlier, links - earlier, int32_t{1}}));
    widest = std::max(widest, core.options(v));
  }
  sum_.resize(widest);
  shifted_.resize(widest);
}

// Sends a message from v, whose sum_ has minimum 0, over `link`. Adds the
// message's minimum to *total and subtracts it from the message.
void Passes::Send(int32_t v, const CoreLink& link, Messages& messages,
                  double* total) {
  const int32_t options = core_.options(v);
  const int32_t columns = core_.options(link.other);
  const double* const in = &messages[link.slot];
  for (int32_t a = 0; a < options; ++a) {
    shifted_[a] = weight_[v] * sum_[a] - in[a];
  }
  double* const out = &messages[core_.links[link.reverse].slot];
  MinPlus(shifted_.data(), core_.DoubleRow(link, 0), options, columns, out);
  const double least = *std::min_element(out, out + columns);
  for (int32_t x = 0; x < columns; ++x) out[x] -= least;
  *total += least;
}

template <bool kForward>
double Passes::Pass(Messages& messages, std::vector<double>* slack) {
  double bound = 0;
  for (int32_t i = 0; i < core_.nodes; ++i) {
    const int32_t v = kForward ? i : core_.nodes - 1 - i;
    const int32_t options = core_.options(v);
    const int32_t first = core_.first_option[v];
    std::copy_n(&unary_[first], options, sum_.data());
    for (const CoreLink& link : core_.Links(v)) {
      AddTo(&messages[link.slot], options, sum_.data());
    }
    const double least = *std::min_element(sum_.data(), sum_.data() + options);
    for (int32_t a = 0; a < options; ++a) sum_[a] -= least;
    if (slack != nullptr) std::copy_n(sum_.data(), options, &(*slack)[first]);
    bound += least;
    for (const CoreLink& link : core_.Links(v)) {
      if ((link.other > v) == kForward) Send(v, link, messages, &bound);
    }
  }
  return bound;
}

double Passes::Forward(Messages& messages) {
  return Pass<true>(messages, nullptr);
}

double Passes::Backward(Messages& messages) {
  return Pass<false>(messages, nullptr);
}

double Passes::BackwardWithSlack(Messages& messages,
                                 std::vector<double>& slack) {
  slack.resize(core_.costs.size());
  return Pass<false>(messages, &slack);
}

void Passes::Decode(const Messages& messages, std::vector<int32_t>& choice) {
  choice.resize(core_.nodes);
  for (int32_t v = 0; v < core_.nodes; ++v) {
    const int32_t options = core_.options(v);
    std::copy_n(&unary_[core_.first_option[v]], options, sum_.data());
    for (const CoreLink& link : core_.Links(v)) {
      if (link.other > v) {
        AddTo(&messages[link.slot], options, sum_.data());
      } else {
        const CoreLink& back = core_.links[link.reverse];
        AddTo(core_.DoubleRow(back, choice[link.other]), options, sum_.data());
      }
    }
    choice[v] = static_cast<int32_t>(
        std::min_element(sum_.data(), sum_.data() + options) - sum_.data());
  }
}

}  // namespace meshwright

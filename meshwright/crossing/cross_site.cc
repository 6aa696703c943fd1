#include "meshwright/crossing/cross_site.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

absl::StatusOr<CrossCall> ReadCall(const FfiCall& from) {
  CrossCall call;
  MW_ASSIGN_OR_RETURN(const auto kind, from.StringAttribute("kind"));
  MW_ASSIGN_OR_RETURN(call.kind, ParseCrossKind(kind));
  MW_ASSIGN_OR_RETURN(const auto op, from.StringAttribute("op"));
  MW_ASSIGN_OR_RETURN(call.op, ParseReduceOp(op));
  MW_ASSIGN_OR_RETURN(call.dimension, from.IntegerAttribute("dimension"));
  MW_ASSIGN_OR_RETURN(const auto groups, from.StringAttribute("groups"));
  MW_ASSIGN_OR_RETURN(call.groups, ParseCrossGroups(groups));
  MW_ASSIGN_OR_RETURN(const auto pairs, from.StringAttribute("pairs"));
  MW_ASSIGN_OR_RETURN(call.pairs, ParseCrossPairs(pairs));
  return call;
}

std::vector<CrossArrays::Array> ShapesOf(absl::Span<const FfiArray> arrays) {
  std::vector<CrossArrays::Array> shapes;
  for (const FfiArray& array : arrays) {
    shapes.push_back(
        {.type = array.type,
         .dimensions = {array.dimensions.begin(), array.dimensions.end()}});
  }
  return shapes;
}

}  // namespace

absl::StatusOr<CrossSite> CrossSite::Create(const FfiCall& call, int process) {
  MW_ASSIGN_OR_RETURN(CrossCall read, ReadCall(call));
  // The last ones hold the device number.
  const auto all_but_last = [](const std::vector<FfiArray>& arrays) {
    return ShapesOf(absl::MakeSpan(arrays).first(arrays.size() - 1));
  };
  return Create(std::move(read),
                {.operands = all_but_last(call.operands()),
                 .results = all_but_last(call.results())},
                process);
}

absl::StatusOr<CrossSite> CrossSite::Create(CrossCall call, CrossArrays arrays,
                                            int process) {
  MW_RETURN_IF_ERROR(CheckArrays(call, arrays));
  CrossSite site;
  site.call_ = std::move(call);
  site.arrays_ = std::move(arrays);
  for (const CrossGroup& group : site.call_.groups) {
    Meeting& meeting = site.meetings_.emplace_back();
    meeting.places = PlacesOf(group, process);
    const std::vector<size_t>& here =
        meeting.places.positions[meeting.places.here];
    meeting.waiting.resize(here.size());
    for (size_t member = 0; member < here.size(); ++member) {
      site.places_[group.members[here[member]].device] = {
          .meeting = site.meetings_.size() - 1,
          .member = member,
          .position = here[member]};
    }
  }
  return site;
}

std::optional<CrossSite::Round> CrossSite::Arrive(int64_t device,
                                                  CrossArrival arrival) {
  const Place& place = places_.at(device);
  arrival.member.position = place.position;
  meetings_[place.meeting].waiting[place.member].push_back(std::move(arrival));
  return Begin(place.meeting, place.member);
}

std::optional<CrossSite::Round> CrossSite::Over(size_t meeting) {
  meetings_[meeting].is_on = false;
  return Begin(meeting, 0);
}

std::optional<CrossSite::Round> CrossSite::Begin(size_t number, size_t caller) {
  Meeting& meeting = meetings_[number];
  if (meeting.is_on ||
      std::ranges::any_of(meeting.waiting,
                          [](const auto& queue) { return queue.empty(); })) {
    return std::nullopt;
  }
  meeting.is_on = true;
  Round round{.round = {.call = &call_,
                        .group = &call_.groups[number],
                        .places = &meeting.places,
                        .arrays = &arrays_},
              .meeting = number,
              .caller = caller};
  for (std::deque<CrossArrival>& queue : meeting.waiting) {
    round.round.members.push_back(std::move(queue.front().member));
    round.done.push_back(std::move(queue.front().done));
    queue.pop_front();
  }
  return round;
}

bool CrossSite::HasArrivals() const {
  for (const Meeting& meeting : meetings_) {
    for (const auto& queue : meeting.waiting) {
      if (!queue.empty()) return true;
    }
  }
  return false;
}

std::vector<CrossArrival> CrossSite::Clear() {
  std::vector<CrossArrival> all;
  for (Meeting& meeting : meetings_) {
    for (std::deque<CrossArrival>& queue : meeting.waiting) {
      std::ranges::move(queue, std::back_inserter(all));
      queue.clear();
    }
  }
  return all;
}

}  // namespace meshwright

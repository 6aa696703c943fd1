// Prints the results of meshwright explain as text and JSON.
#ifndef MESHWRIGHT_CLI_EXPLAIN_PRINT_H_
#define MESHWRIGHT_CLI_EXPLAIN_PRINT_H_

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "meshwright/explain/explain.h"
#include "meshwright/explain/explain_binds.h"
#include "meshwright/explain/explain_part.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// Of a whole plan.
struct PlanReport {
  const Plan& plan;
  std::vector<BindReport> binds;
  std::vector<BlockReport> blocks;
};

void Print(const PlanReport& report);
void Print(const PartReport& report);
void Print(const ChoiceReport& report);
nlohmann::ordered_json ToJson(const PlanReport& report);
nlohmann::ordered_json ToJson(const PartReport& report);
nlohmann::ordered_json ToJson(const ChoiceReport& report);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_EXPLAIN_PRINT_H_

// meshwright COMMAND ...; see commands.h.
#include <string>
#include <vector>

#include "meshwright/base/process_end.h"
#include "meshwright/base/standard_output.h"
#include "meshwright/cli/commands.h"

int main(int argc, char** argv) {
  meshwright::OpenStandardOutput();
  meshwright::EndOnSignals();
  const std::vector<std::string> words(argv + 1, argv + argc);
  return meshwright::RunCli(words);
}

// meshwright COMMAND ...; see commands.h.
#include <string>
#include <vector>

#include "meshwright/cli/commands.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return meshwright::RunCli(words);
}

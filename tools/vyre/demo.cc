// `vyre demo`: vyre at work in under a minute, with nothing but itself: a picture, a hash on every
// backend, a race and its fix. What it shows it does with the verbs that it prints.
#include <algorithm>
#include <cstdlib>

#include "demo_programs.h"
#include "tools/vyre/command.h"
#include "tools/vyre/data.h"
#include "vyre/base/text.h"
#include "vyre/compile.h"

namespace vyre {
namespace {

std::string_view example(std::string_view name) {
  return std::ranges::find(embedded::demo_programs, name,
                           &std::pair<std::string_view, std::string_view>::first)
      ->second;
}

// Runs a verb with a text on its standard input.
int run_with(std::vector<std::string_view> arguments, std::string_view input,
             const Console& console) {
  std::string text(input);
  Console own = console;
  own.in = fmemopen(text.data(), text.size(), "rb");
  own.err = console.out;  // one story, in one place
  own.colour = console.colour && console.out_is_terminal;
  own.err_is_terminal = false;
  const int status = run_command(arguments, own);
  std::fclose(own.in);
  return status;
}

bool show_picture(const Console& console) {
  console.print(
      "1. A picture, drawn by a program in fixed point: every machine draws the same pixels.\n\n");
  const int status = run_with(
      {"run", "-", "--grid", "9,6", "--in", "size=72,44", "--in", "view=-37748736,-15728640,715000",
       "--in", "pixels=zeros:3168", "--image", "pixels:72x44"},
      example("mandelbrot"), console);
  console.print(
      "\n$ vyre run examples/mandelbrot.vyre --grid 9,6 --in size=72,44 \\\n"
      "    --in view=-37748736,-15728640,715000 --in pixels=zeros:3168 --image pixels:72x44\n"
      "  (--image pixels=mandelbrot.png:72x44 writes a file)\n\n");
  return status == kFine;
}

bool show_digest(const Console& console) {
  // FIPS 180-4, the message "abc".
  constexpr std::string_view kKnown =
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  console.print("2. SHA-256 of \"abc\", on every backend that can run here.\n\n");
  const Result<Loaded> loaded = load_module({"sha256.vyre", std::string(example("sha256"))});
  if (!loaded.ok()) return false;
  const Linked program = program_at(*loaded, loaded->module.items.size() - 1);
  bool right = true;
  for (const Backend& backend : all_backends()) {
    const Opened opened = backend.open(0);
    const std::string line = "  " + padded(backend.name, 8);
    if (opened.device == nullptr) {
      console.print(line + "cannot run: " + opened.reason + "\n");
      continue;
    }
    const std::vector<std::uint32_t> bounds{0, 3};
    const std::vector<std::uint32_t> zeros(8);
    const Result<Outputs> outputs =
        dispatch(program, {1, 1, 1},
                 {{"text", std::string_view("abc")}, {"bounds", bounds}, {"digests", zeros}},
                 {opened.device.get(), {}});
    if (!outputs.ok()) {
      if (outputs.diagnostics()[0].code == Code::B003) {
        console.print(line + outputs.diagnostics()[0].problem + "\n");
        continue;
      }
      report(outputs.diagnostics(), false, console);
      return false;
    }
    std::string hash;
    for (std::uint32_t word : *outputs->get<std::uint32_t>("digests")) hash += hex(word, 8);
    right = right && hash == kKnown;
    console.print(line + hash + (hash == kKnown ? "  right\n" : "  WRONG\n"));
  }
  console.print(
      "  FIPS    " + std::string(kKnown) +
      "\n\n$ vyre run examples/sha256.vyre --grid 1 --in text=text:abc --in bounds=0,3 \\\n"
      "    --in digests=zeros:2 --backend all\n\n");
  return right;
}

bool show_race(const Console& console) {
  // Without its barrier the tree sum reads cells that others are still writing.
  constexpr std::string_view kBarrier = "    barrier\n";
  const std::string_view sums = example("sums");
  std::string racy(sums);
  racy.erase(racy.find(kBarrier), kBarrier.size());
  std::vector<std::string_view> arguments = {"race",          "-",    "--grid",     "4", "--in",
                                             "data=iota:256", "--in", "out=zeros:4"};
  console.print(
      "3. A race: each workgroup adds up 64 numbers, but its invocations do not wait for each "
      "other.\n"
      "   That may go well a thousand times; `vyre race` need not see it go wrong to find it.\n\n"
      "$ vyre race - --grid 4 --in data=iota:256 --in out=zeros:4 <<END\n" +
      racy + "END\n\n");
  const bool found = run_with(arguments, racy, console) == kWrongInput;
  console.print(
      "\nWith a barrier in every round, all have written before anybody reads:\n\n"
      "  for step in 0..6 {\n"
      "    barrier\n"
      "    …\n\n"
      "$ vyre race … && vyre run …\n");
  const bool clean = run_with(arguments, sums, console) == kFine;
  arguments[0] = "run";
  return run_with(arguments, sums, console) == kFine && found && clean;
}

bool show_all(const Console& console) {
  if (!show_picture(console) || !show_digest(console) || !show_race(console)) return false;
  console.print("\nNext: `vyre --help`, the programs in examples/, and docs/guide.md.\n");
  return true;
}

}  // namespace

Result<int> run_demo(const Invocation& invocation, const Console& console) {
  if (!invocation.json()) return show_all(console) ? kFine : kEnvironment;
  char* text = nullptr;
  std::size_t size = 0;
  Console collected = console;
  collected.out = open_memstream(&text, &size);
  collected.out_is_terminal = false;
  const bool fine = show_all(collected);
  std::fclose(collected.out);
  print_text({text, size}, true, console);
  std::free(text);
  return fine ? kFine : kEnvironment;
}

}  // namespace vyre

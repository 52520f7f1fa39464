#include "vyre/build/elementwise.h"

#include <algorithm>
#include <set>

#include "vyre/base/text.h"
#include "vyre/ir/intern.h"
#include "vyre/text/lexer.h"

namespace vyre {
namespace {

// A name that is not taken and not reserved.
std::string fresh(std::string name, std::set<std::string>& taken) {
  while (is_reserved(name) || taken.contains(name)) name += "_";
  taken.insert(name);
  return name;
}

}  // namespace

bool is_elementwise(const Op& op) {
  return !is_array(op.signature.output) && std::ranges::none_of(op.signature.inputs, &is_array);
}

Result<Program> elementwise(const Op& op) {
  const Op* chain[] = {&op};
  return elementwise(chain);
}

Result<Program> elementwise(std::span<const Op* const> chain) {
  if (chain.empty()) return diagnose<message::empty_chain>();
  Program program;
  program.workgroup_size = {64, 1, 1};
  Body& body = program.body;
  Interner interner(body);
  std::set<std::string> taken;
  body.locals.push_back({fresh("i", taken)});
  const std::string out_name = fresh("out", taken);
  const auto add_buffer = [&](const std::string& name, BufferAccess access, DataType element) {
    const auto binding = static_cast<std::uint32_t>(program.buffers.size());
    program.buffers.push_back(BufferDecl::storage(name, binding, access, element));
  };
  const ExprId id = interner.make(Operation::InvocationId, 0, 0, {});
  const ExprId index = interner.local(LocalId{0u});
  ExprId value;
  DataType given = DataType::Unknown;  // the type of `value`
  for (const Op* op : chain) {
    const std::vector<DataType>& inputs = op->signature.inputs;
    if (!is_elementwise(*op)) return diagnose<message::chain_array>(shorten(op->id));
    std::vector<ExprId> arguments;
    if (value.exists()) {
      if (inputs.empty() || inputs[0] != given) {
        return diagnose<message::chain_type>(
            shorten(op->id), inputs.empty() ? "nothing" : text(inputs[0]), text(given),
            inputs.empty() ? "begin with it, or leave it out"
                           : "put an op between them that converts it");
      }
      arguments.push_back(value);
    }
    given = op->signature.output;
    while (arguments.size() < inputs.size()) {
      const std::size_t k = arguments.size();
      add_buffer(fresh(op->body.locals[k].name, taken), BufferAccess::ReadOnly, inputs[k]);
      arguments.push_back(interner.load(BufferId{program.buffers.size() - 1}, index));
    }
    value = interner.call(op->id, arguments);
    std::string name = op->id;
    std::ranges::replace(name, '.', '_');
    program.name += (program.name.empty() ? "" : "_then_") + name;
  }
  add_buffer(out_name, BufferAccess::ReadWrite, given);
  const BufferId last{program.buffers.size() - 1};
  const ExprId inside =
      interner.make(Operation::Lt, 0, 0, std::array{index, interner.length(last)});
  body.stmts = {Let{LocalId{0u}, id}, If{inside, StmtId{3u}, StmtId{3u}},
                Store{last, index, value}};
  program.body = canonical(body);
  while (is_reserved(program.name)) program.name += "_";
  return program;
}

}  // namespace vyre

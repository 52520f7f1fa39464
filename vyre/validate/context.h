// What the checks of one item share: the item, its types, and how to report at a place in it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vyre/base/diagnostics.h"
#include "vyre/ir/program.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"
#include "vyre/library/registry.h"
#include "vyre/text/parse.h"

namespace vyre {

// An op that a module calls, directly or through other ops.
struct Callee {
  const Op* op = nullptr;  // null when there is none of this id
  bool in_module = false;
  bool valid_signature = false;
  std::uint32_t level = 0;   // of a call of it: 1 when it calls nothing
  std::string_view deepest;  // the op it calls that makes its level
  bool open = false;         // its calls are being followed
  std::size_t frame = 0;     // while they are: how many ops are open around it
  // Circles of calls of which this op is the first one met: the op that closes each, and the chain.
  std::vector<std::pair<std::string_view, std::string>> circles;
  std::string circle_outside;  // one that a call of this op runs into outside of the module
};

struct Callees {
  const Registry& registry;
  std::unordered_map<std::string_view, Callee> by_id;
  std::vector<std::string_view> known;  // all ids that exist, for suggestions; only where needed

  const Callee& operator[](std::string_view id) const { return by_id.at(id); }
};
// The ops that a module and the ops it calls name.
Callees resolve_callees(const Module& module, const Registry& registry);

// A place to report at.
struct Place {
  enum Kind : std::uint8_t {
    Name,  // the item's
    WorkgroupSize,
    Buffer,
    Parameter,
    Output,
    Law,
    End,       // the item's closing brace
    Head,      // the first token of a statement
    Local,     // the local that it declares or assigns
    Accessed,  // the buffer that it accesses
    Use,       // one of its expressions
  };
  Kind kind;
  std::uint32_t index;  // of the buffer, parameter, law or statement
  std::uint32_t use;    // of an expression: which one of its statement

  Place(Kind k, std::size_t i = 0, std::uint32_t u = 0)
      : kind(k), index(static_cast<std::uint32_t>(i)), use(u) {}
};

class Context {
 public:
  // `positions` are those of a text; of anything else there are none, and findings have paths.
  Context(const Item& item, const Callees& callees_by_id, Findings& findings,
          const ItemPositions* positions);

  const Program* program;  // one of the two is null
  const Op* op;
  const Body& body;
  std::span<const BufferDecl> buffers;  // none in an op
  std::string_view name;
  const Callees& callees;
  // Of a text: the body, where check_types() chooses between operations that are spelt alike.
  Body* spelt = nullptr;
  Types types;
  // Per expression: how many expressions it is as written out, and how deep.
  std::vector<std::uint32_t> sizes;

  template <class Message, class... Arguments>
  void report(Place place, const Arguments&... arguments) {
    add(diagnose<Message>(arguments...), place);
  }
  // Where the problem names the place of another statement, that is its cause.
  void add(Diagnostic diagnostic, Place place, std::optional<Place> cause = {});
  // That another item has the same name.
  void report_twice(const Context& first);
  // Nothing more is kept: what a message would say need not be found out.
  bool full() const { return findings_.full(); }

  // The place of root number `k` of a statement.
  Place root(std::uint32_t stmt, std::size_t k) const;

  // Whether it is the `if` with which the loop that `while` stands for ends.
  bool is_while(StmtId branch) const;

  // The place of a cause, for the problem: "in line 7", or "at body[3]" without a source.
  std::string where(StmtId cause) const;

 private:
  Span span_of(Place place) const;
  std::string path_of(Place place) const;
  ExprId expr_of(Place place) const;

  Findings& findings_;
  const ItemPositions* positions_;
};

// The checks, in the order in which they run. limits() says whether the item can be written out, on
// which the others rely.
bool check_limits(Context& context);
void check_declarations(Context& context);
void check_types(Context& context);
void check_structure(Context& context);
void check_laws(Context& context);
void check_uniformity(Context& context);
void check_tables(Context& context);
// Of the items of a module in which nothing else is wrong.
void check_arrays(std::span<Context> contexts, const Callees& callees);

// What is wrong with a call of an op that does not exist, recurses, or calls too deeply. Each chain
// of calls is reported once, where it passes the limit or closes the circle.
Diagnostic unknown_callee(const Context& context, std::string_view id,
                          std::span<const DataType> arguments);
std::optional<Diagnostic> level_error(const Context& context, std::string_view id);

}  // namespace vyre

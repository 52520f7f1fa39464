// Whether the laws that an op declares have the right arguments and fit its signature. Whether they
// hold is another question.
#include <algorithm>

#include "vyre/base/text.h"
#include "vyre/ir/eval.h"
#include "vyre/text/print.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

class LawCheck {
 public:
  LawCheck(Context& context, std::size_t index)
      : context_(context),
        index_(index),
        law_(context.op->laws[index]),
        row_(info(law_.kind)),
        signature_(context.op->signature) {}

  void run() {
    if (check_arguments()) check_shape();
  }

 private:
  // Kinds and number of the arguments, and the types of values.
  bool check_arguments() {
    bool fits = law_.arguments.size() == row_.arguments.size();
    std::string needs, example(row_.text);
    for (std::size_t i = 0; i < row_.arguments.size(); ++i) {
      const LawArgument* argument = fits ? &law_.arguments[i] : nullptr;
      const TypedBits* bits = argument != nullptr ? std::get_if<TypedBits>(argument) : nullptr;
      needs += i == 0 ? "" : ", ";
      example += i == 0 ? "(" : ", ";
      switch (row_.arguments[i]) {
        case 'v': {
          const DataType type = value_type();
          fits = fits && bits != nullptr && bits->type == type && is_value(*bits);
          needs += "a value of type " + std::string(text(type));
          example += type == DataType::Bytes ? "0" : print_literal({type, {}});
          break;
        }
        case 'b':
          fits = fits && bits != nullptr && bits->type == DataType::Bool;
          needs += "true or false";
          example += "false";
          break;
        case 'd':
          fits = fits && std::holds_alternative<Direction>(*argument);
          needs += "non_decreasing or non_increasing";
          example += "non_decreasing";
          break;
        default:
          fits = fits && std::holds_alternative<std::string>(*argument);
          needs += "the id of an op";
          example += "family.name";
          break;
      }
    }
    if (!row_.arguments.empty()) example += ')';
    if (!fits) {
      context_.report<message::law_arguments>({Place::Law, index_}, row_.text,
                                              needs.empty() ? "no arguments" : needs, example);
    }
    return fits;
  }

  void check_shape() {
    const DataType output = signature_.output;
    require(!is_array(output) && std::ranges::none_of(signature_.inputs, &is_array),
            "it takes or gives an array, and laws are about numbers and vectors");
    switch (law_.kind) {
      case LawKind::Commutative:
      case LawKind::SelfInverse: require(pairs(), "it needs two inputs of one type"); break;
      case LawKind::Associative:
      case LawKind::Identity:
      case LawKind::Idempotent:
      case LawKind::Absorbing:
      case LawKind::ZeroProduct:
        require(closed(), "it needs two inputs and an output of one type");
        break;
      case LawKind::LeftIdentity:
      case LawKind::RightAbsorbing:
        require(binary() && input(1) == output, "its second input must be of the output's type");
        break;
      case LawKind::RightIdentity:
      case LawKind::LeftAbsorbing:
        require(binary() && input(0) == output, "its first input must be of the output's type");
        break;
      case LawKind::Involution:
        require(unary() && input(0) == output, "it needs one input of the output's type");
        break;
      case LawKind::Monotonic:
        require(unary() && is_number(input(0)) && is_number(output),
                "it needs one input, and input and output that can be ordered");
        break;
      case LawKind::Bounded:
        require(is_number(output), "its output cannot be ordered");
        if (!failed_) require(in_order(), "its lower bound is above its upper one");
        break;
      case LawKind::InverseOf:
        require(unary() || binary(), "it needs one or two inputs");
        if (unary()) require_op(0, {{output}, input(0)});
        if (binary()) require_op(0, {{output, input(1)}, input(0)});
        break;
      case LawKind::DistributiveOver:
        require(binary() && input(1) == output, "its second input must be of the output's type");
        require_op(0, {{output, output}, output});
        break;
      case LawKind::LatticeAbsorption:
        require(closed(), "it needs two inputs and an output of one type");
        require_op(0, {{output, output}, output});
        break;
      case LawKind::DeMorgan:
        require(unary(), "it needs one input");
        require_op(0, {{input(0), input(0)}, input(0)});
        require_op(1, {{output, output}, output});
        break;
      case LawKind::Complement:
        require(binary() || (unary() && is_number(output)),
                "it needs two inputs, or one and an output that can be added");
        require_op(0, {{input(0)}, input(binary() ? 1 : 0)});
        break;
      case LawKind::Trichotomy:
        require(pairs(), "it needs two inputs of one type");
        for (std::size_t k = 0; k < 3; ++k) require_op(k, {{input(0), input(0)}, DataType::U32});
        break;
    }
  }

  // f takes two values of one type.
  bool pairs() const { return binary() && input(0) == input(1); }
  bool closed() const { return pairs() && signature_.output == input(0); }
  bool unary() const { return signature_.inputs.size() == 1; }
  bool binary() const { return signature_.inputs.size() == 2; }
  DataType input(std::size_t i) const {
    return i < signature_.inputs.size() ? signature_.inputs[i] : DataType::Unknown;
  }
  static bool is_number(DataType type) { return contains(info(Operation::Add).types, type); }
  // An identity stands for an input, other constants for the output.
  DataType value_type() const {
    if (binary() && law_.kind == LawKind::LeftIdentity) return input(0);
    if (binary() && law_.kind == LawKind::RightIdentity) return input(1);
    return signature_.output;
  }

  // Of two bounds.
  bool in_order() const {
    const Bits& low = std::get<TypedBits>(law_.arguments[0]).bits;
    const Bits& high = std::get<TypedBits>(law_.arguments[1]).bits;
    const Bits tests = eval(Operation::Le, signature_.output, low, high);
    return std::ranges::all_of(std::span(tests.lanes).first(lane_count(signature_.output)),
                               [](std::uint32_t test) { return test != 0; });
  }

  void require(bool holds, std::string_view shape) {
    if (!holds && !failed_) {
      context_.report<message::law_shape>({Place::Law, index_}, row_.text, shorten(context_.name),
                                          shape);
      failed_ = true;
    }
  }
  // Argument k names an op of this signature.
  void require_op(std::size_t k, const OpSignature& wanted) {
    if (failed_) return;
    const std::string& id = std::get<std::string>(law_.arguments[k]);
    const Op* op = id == context_.name ? context_.op : find(id);
    if (op == nullptr) {
      const std::string_view near =
          context_.full() ? std::string_view() : nearest(id, context_.callees.known);
      if (near.empty()) return report_operand(id, "which is not registered");
      context_.report<message::misspelt_operand>({Place::Law, index_}, row_.text, shorten(id),
                                                 near);
      failed_ = true;
    } else if (op->signature.output == DataType::Unknown) {
      failed_ = true;  // reported where it is defined
    } else if (op->signature != wanted) {
      const std::string types = join(wanted.inputs, ", ", [](DataType type) { return text(type); });
      report_operand(id, "which is not (" + types + ") -> " + std::string(text(wanted.output)));
    }
  }
  const Op* find(const std::string& id) const {
    const auto known = context_.callees.by_id.find(id);
    if (known != context_.callees.by_id.end() && known->second.op != nullptr) {
      return known->second.op;
    }
    return context_.callees.registry.find(id);
  }
  void report_operand(std::string_view id, std::string_view what) {
    context_.report<message::law_operand>({Place::Law, index_}, row_.text, shorten(id), what);
    failed_ = true;
  }

  Context& context_;
  const std::size_t index_;
  const Law& law_;
  const LawInfo& row_;
  const OpSignature& signature_;
  bool failed_ = false;
};

}  // namespace

void check_laws(Context& context) {
  if (context.op == nullptr) return;
  for (std::size_t i = 0; i < context.op->laws.size(); ++i) LawCheck(context, i).run();
}

}  // namespace vyre

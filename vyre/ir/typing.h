// The types of a body's expressions and locals: a table beside the body.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vyre/base/diagnostics.h"
#include "vyre/ir/walk.h"

namespace vyre {

struct Types {
  std::vector<DataType> exprs;
  std::vector<DataType> locals;

  DataType operator[](ExprId id) const { return exprs[id.index]; }
  DataType operator[](LocalId id) const { return locals[id.index]; }
};

// Of a valid body. `inputs` are the types of an op's parameters, `results` those of its callees.
Types types_of(const Body& body, std::span<const BufferDecl> buffers,
               std::span<const DataType> inputs, std::span<const DataType> results);

// Why a local, parameter or result cannot have this type, if it cannot; `what` names it.
std::optional<Diagnostic> variable_error(std::string_view what, DataType type);

// Why there can be no table with this number of elements of this type, if there cannot.
std::optional<Diagnostic> table_error(std::string_view name, DataType element, std::size_t count);

Diagnostic condition_error(DataType type);
// Of an operation or collective that takes others.
Diagnostic operand_error(std::string_view operation, DataType type, TypeSet taken);
Diagnostic lane_error(DataType type, std::uint32_t lane);

// The type of a valid expression by those of its operands, `type(i)`. Locals, loads, tables and
// calls are not for their operands to say: Unknown.
template <class TypeOf>
DataType result_type(const Expr& expr, TypeOf type) {
  switch (expr.op) {
    case Operation::Literal:
    case Operation::Cast: return type_of_detail(expr);
    case Operation::Local:
    case Operation::Load:
    case Operation::Table:
    case Operation::Call: return DataType::Unknown;
    case Operation::Length:
    case Operation::InvocationId:
    case Operation::WorkgroupId:
    case Operation::LocalId:
    case Operation::NumWorkgroups:
    case Operation::Count:
    case Operation::Lane: return DataType::U32;
    case Operation::Element: return element_type(type(0));
    case Operation::Array: return array_type(type(0), expr.args[1].index);
    case Operation::Zeros: return static_cast<DataType>(expr.imm);
    case Operation::Select: return type(1);
    case Operation::Vec2: return DataType::Vec2U32;
    case Operation::Vec4: return DataType::Vec4U32;
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      return result_of(expr.op, type(0));
  }
  return DataType::Unknown;
}

inline constexpr int kWhole = -1;

// The same of an expression that may be wrong. Calls blame(i, make) where operand i does not fit,
// or kWhole where none is wrong by itself; make() gives the diagnostic. Nothing follows from an
// operand of unknown type.
template <class TypeOf, class Blame>
DataType checked_type(const Expr& expr, TypeOf type, Blame blame) {
  using enum DataType;
  switch (expr.op) {
    case Operation::Literal:
    case Operation::Local:
    case Operation::Load:
    case Operation::Call:
    case Operation::Length:
    case Operation::InvocationId:
    case Operation::WorkgroupId:
    case Operation::LocalId:
    case Operation::NumWorkgroups:
    case Operation::Zeros:
    case Operation::Table: break;
    case Operation::Element: {
      const DataType array = type(0), index = type(1);
      if (index != U32 && index != Unknown) {
        blame(1, [&] { return diagnose<message::element_index>(index); });
      }
      if (array == Unknown) return Unknown;
      if (is_array(array)) break;
      blame(0, [&] {
        return is_vector(array) ? diagnose<message::indexed_vector>(array)
                                : diagnose<message::indexed_value>(array);
      });
      return Unknown;
    }
    case Operation::Count: {
      const DataType array = type(0);
      if (array == Unknown || is_array(array)) break;
      blame(0, [&] { return diagnose<message::measured_value>(array); });
      break;
    }
    case Operation::Array: {
      const DataType element = type(0);
      if (element == Unknown) return Unknown;
      if (is_array(element)) {
        blame(0, [&] { return diagnose<message::nested_array>(); });
        return Unknown;
      }
      for (int i = 1; i < static_cast<int>(expr.args[1].index); ++i) {
        const DataType got = type(static_cast<std::size_t>(i));
        if (got == element || got == Unknown) continue;
        blame(i, [&] {
          return is_array(got) ? diagnose<message::nested_array>()
                               : diagnose<message::array_element>(element, got);
        });
      }
      break;
    }
    case Operation::Select: {
      const DataType condition = type(0), a = type(1), b = type(2);
      if (condition != Unknown && !contains(type_sets::Truth, condition)) {
        blame(0, [&] { return condition_error(condition); });
      }
      if (a == Unknown || b == Unknown) return Unknown;
      if (is_array(a) || is_array(b)) {
        blame(is_array(a) ? 1 : 2, [&] { return diagnose<message::selected_array>(); });
        return Unknown;
      }
      if (a == b) break;
      blame(kWhole, [&] { return diagnose<message::select_sides>(a, b); });
      return Unknown;
    }
    case Operation::Cast: {
      const DataType source = type(0), target = type_of_detail(expr);
      if (target == Bytes) {
        blame(kWhole, [&] { return diagnose<message::cast_to_bytes>(); });
        return Unknown;
      }
      if (source == Unknown || cast_exists(source, target)) break;
      blame(kWhole, [&] {
        if (is_array(source)) return diagnose<message::array_cast>(source, target);
        return diagnose<message::unsupported_cast>(source, target, list_of(cast_targets(source)));
      });
      break;
    }
    case Operation::Vec2:
    case Operation::Vec4: {
      const DataType vector = result_type(expr, type);
      for (int i = 0; i < static_cast<int>(lane_count(vector)); ++i) {
        const DataType lane = type(static_cast<std::size_t>(i));
        if (lane == U32 || lane == Unknown) continue;
        blame(i, [&] { return diagnose<message::lane_operand>(vector, lane); });
      }
      break;
    }
    case Operation::Lane: {
      const DataType vector = type(0);
      if (vector == Unknown || (is_vector(vector) && expr.detail < lane_count(vector))) break;
      blame(kWhole, [&] { return lane_error(vector, expr.detail); });
      break;
    }
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      {
        const DataType first = type(0);
        const TypeSet types = operand_types(expr.op);
        if (first == Unknown) return Unknown;
        if (!contains(types, first)) {
          blame(0, [&] { return operand_error(info(expr.op).text, first, types); });
          return Unknown;
        }
        const DataType wanted = second_operand(expr.op, first);
        const DataType second = arity(expr.op) == 2 ? type(1) : wanted;
        if (second == wanted) break;
        if (second == Unknown) return Unknown;
        const bool is_shift = signature(expr.op) == Signature::Shift;
        blame(is_shift ? 1 : kWhole, [&] {
          const std::string_view text = info(expr.op).text;
          return is_shift ? diagnose<message::shift_count>(text, first, second, wanted)
                          : diagnose<message::operand_types>(text, first, second);
        });
        return Unknown;
      }
  }
  return result_type(expr, type);
}

}  // namespace vyre

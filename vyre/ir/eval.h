// The meaning of each operation for each type, written once. Total: no operand traps, is
// undefined or depends on the machine. The interpreter and the constant folder call this; every
// other backend is independent code that must agree with it.
#pragma once

#include "vyre/ir/program.h"

namespace vyre {

// `type` is the type of the first operand and in the operation's set; operands have the types that
// second_operand() says. For a unary operation `b` is ignored.
Bits eval(Operation op, DataType type, const Bits& a, const Bits& b = {});

// The same on one number of 8 bits, signed or not: small enough to try all.
std::uint8_t eval_byte(Operation op, bool is_signed, std::uint8_t a, std::uint8_t b);

// A cast that the table has (cast_exists).
Bits eval_cast(DataType source, DataType target, const Bits& value);

// What an atomic leaves in an element of type U32 or I32 that held `old`.
std::uint32_t eval_atomic(AtomicOp op, DataType type, std::uint32_t old, std::uint32_t expected,
                          std::uint32_t value);

// What a collective that combines values begins with: combined with it, a value stays as it is.
Bits collective_identity(CollectiveOp op, DataType type);

}  // namespace vyre

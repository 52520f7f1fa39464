#include "vyre/backends/ptx/bytes.h"

#include <array>
#include <optional>

#include "vyre/ir/walk.h"

namespace vyre {
namespace {

constexpr std::uint8_t kZero = 8;
constexpr std::uint32_t kLeastOperations = 3;

// Where each byte of a word comes from.
struct Sources {
  std::array<ExprId, 2> words;
  std::array<std::uint8_t, 4> bytes{0, 1, 2, 3};
  std::uint32_t operations = 0;
  bool moves = false;  // some byte to another place
};

// Bytes rotated up. Those before `first`, and from `end` on, become zeros.
Sources moved(const Sources& from, std::uint32_t up, std::uint32_t first, std::uint32_t end) {
  Sources result = from;
  for (std::uint32_t i = 0; i < 4; ++i) {
    result.bytes[i] = first <= i && i < end ? from.bytes[(i - up) & 3] : kZero;
  }
  result.moves = true;
  return result;
}

std::optional<Sources> masked(Sources from, std::uint32_t mask) {
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t byte = mask >> (8 * i) & 0xff;
    if (byte != 0 && byte != 0xff) return std::nullopt;
    if (byte == 0) from.bytes[i] = kZero;
  }
  return from;
}

// Of two that have no byte in common.
std::optional<Sources> joined(const Sources& a, const Sources& b) {
  Sources result = a;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint8_t byte = b.bytes[i];
    if (byte == kZero) continue;
    if (a.bytes[i] != kZero) return std::nullopt;
    const ExprId word = b.words[byte / 4];
    std::uint8_t place = 0;
    while (place < 2 && result.words[place].exists() && result.words[place] != word) ++place;
    if (place == 2) return std::nullopt;
    result.words[place] = word;
    result.bytes[i] = static_cast<std::uint8_t>(4 * place + byte % 4);
  }
  result.operations += b.operations;
  result.moves = a.moves || b.moves;
  return result;
}

}  // namespace

std::vector<BytesMove> find_moves(const Body& body, const Types& types) {
  std::vector<BytesMove> found(body.exprs.size());
  std::vector<Sources> all(body.exprs.size());
  const auto literal = [&](ExprId id) {
    return body[id].op == Operation::Literal ? std::optional(body[id].imm) : std::nullopt;
  };
  // A number of bytes, where a count is one.
  const auto whole = [&](ExprId id) -> std::optional<std::uint32_t> {
    const auto count = literal(id);
    if (!count || *count % 8 != 0) return std::nullopt;
    return (*count & 31) / 8;
  };
  for (std::uint32_t i = 0; i < body.exprs.size(); ++i) {
    const ExprId id{i};
    const Expr& expr = body.exprs[i];
    all[i].words[0] = id;
    if (types[id] != DataType::U32) continue;
    const auto of = [&](std::size_t arg) -> const Sources& { return all[expr.args[arg].index]; };
    std::optional<Sources> made;
    if (signature(expr.op) == Signature::Shift) {
      if (const auto count = whole(expr.args[1])) {
        const bool left = expr.op == Operation::Shl || expr.op == Operation::RotateLeft;
        made = moved(of(0), left ? *count : 4 - *count, expr.op == Operation::Shl ? *count : 0,
                     expr.op == Operation::Shr ? 4 - *count : 4);
      }
    } else if (expr.op == Operation::BitAnd) {
      const auto left = literal(expr.args[0]);
      const auto right = literal(expr.args[1]);
      if (right) made = masked(of(0), *right);
      if (left && !right) made = masked(of(1), *left);
    } else if (expr.op == Operation::BitOr || expr.op == Operation::BitXor ||
               expr.op == Operation::Add) {
      if (!literal(expr.args[0]) && !literal(expr.args[1])) made = joined(of(0), of(1));
    }
    if (!made) continue;
    ++made->operations;
    all[i] = *made;
    if (made->operations < kLeastOperations || !made->moves) continue;
    BytesMove move{made->words[0], made->words[1], 0};
    bool fits = true;
    for (std::uint32_t k = 0; k < 4; ++k) {
      const std::uint32_t byte = made->bytes[k];
      // The second word is the zeros.
      if (byte == kZero && move.second.exists()) fits = false;
      move.selector |= (byte == kZero ? 4 : byte) << (4 * k);
    }
    if (fits) found[i] = move;
  }
  return found;
}

}  // namespace vyre

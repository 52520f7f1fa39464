#include "vyre/backends/cpu/records.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <tuple>

#include "vyre/ir/types.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

constexpr std::uint32_t kMaxSize = 16;
constexpr int kMaxTerms = 16;

class Finder {
 public:
  Finder(const Program& program, const Shapes& shapes)
      : program_(program), body_(program.body), shapes_(shapes), bound_(body_.locals.size()) {}

  Records find() {
    for (const Stmt& stmt : body_.stmts) {
      if (const Let* let = std::get_if<Let>(&stmt)) bound_[let->local.index] = let->value;
    }
    for (const Stmt& stmt : body_.stmts) {
      if (const Assign* assign = std::get_if<Assign>(&stmt)) bound_[assign->local.index] = {};
    }
    BlockStack<OpenBlock> stack(body_);
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i);
      const auto block =
          static_cast<std::uint32_t>(stack.frames().size() > 1 ? stack.back().owner + 1 : 0);
      // The two sides of a branch are not one block.
      const bool otherwise = stack.frames().size() > 1 && is_else(stack.back().owner, i);
      visit(StmtId{i}, 2 * block + (otherwise ? 1 : 0));
      stack.open(i);
    }
    for (auto& [key, group] : loads_) add(group, std::get<3>(key), false);
    for (auto& [key, group] : stores_) add(group, std::get<3>(key), true);
    for (auto& [group, stride] : closed_) add(group, stride, true);
    return std::move(records_);
  }

 private:
  struct Member {
    StmtId stmt;
    ExprId load;
    std::uint32_t offset;
  };
  using Group = std::vector<Member>;
  using Key = std::tuple<std::uint32_t, BufferId, Terms, std::int32_t>;  // block, ..., stride

  bool is_else(std::uint32_t owner, std::uint32_t at) const {
    const If* branch = std::get_if<If>(&body_.stmts[owner]);
    return branch != nullptr && at >= branch->else_begin.index;
  }

  std::optional<Key> key_of(std::uint32_t block, BufferId buffer, ExprId index, Split& at) const {
    const DataType element = program_.buffers[buffer.index].element;
    if (min_bytes(element) != 4 || element == DataType::Bool) return std::nullopt;
    const Shape& shape = shapes_[index];
    if (shape.kind != Shape::Kind::Linear || shape.stride < 2 ||
        shape.stride > static_cast<std::int32_t>(kMaxSize) ||
        !std::has_single_bit(static_cast<std::uint32_t>(shape.stride))) {
      return std::nullopt;
    }
    at = split_index(body_, bound_, index);
    return Key{block, buffer, at.terms, shape.stride};
  }

  void visit(StmtId id, std::uint32_t block) {
    const Stmt& stmt = body_[id];
    for (ExprId root : roots(stmt)) {
      std::vector<ExprId> work{root};
      std::set<ExprId> seen;
      while (!work.empty()) {
        const ExprId at = work.back();
        work.pop_back();
        if (!seen.insert(at).second) continue;
        const Expr& expr = body_[at];
        for (ExprId arg : operands(body_, expr)) work.push_back(arg);
        if (expr.op != Operation::Load) continue;
        const BufferId buffer{expr.imm};
        if (is_written(program_.buffers[buffer.index].access)) {
          close([&](const Key& key) { return std::get<1>(key) == buffer; });
          continue;
        }
        Split split;
        if (const auto key = key_of(block, buffer, expr.args[0], split)) {
          loads_[*key].push_back({id, at, split.offset});
        }
      }
    }
    if (const Store* store = std::get_if<Store>(&stmt)) {
      Split split;
      const std::optional<Key> key = key_of(block, store->buffer, store->index, split);
      // Another store to the buffer comes behind those before.
      close([&](const Key& other) {
        return std::get<1>(other) == store->buffer && (!key || other != *key);
      });
      if (key) stores_[*key].push_back({id, {}, split.offset});
    } else if (!std::holds_alternative<Let>(stmt) && !std::holds_alternative<Assign>(stmt)) {
      close([](const Key&) { return true; });
    }
  }

  // Stores that may not wait any longer.
  template <class Which>
  void close(Which which) {
    std::erase_if(stores_, [&](auto& each) {
      if (!which(each.first)) return false;
      closed_.emplace_back(std::move(each.second), std::get<3>(each.first));
      return true;
    });
  }

  void add(const Group& group, std::int32_t stride, bool stores) {
    const auto size = static_cast<std::uint32_t>(stride);
    // From the smallest on; offsets may count up from below 0.
    std::uint32_t least = group[0].offset;
    for (const Member& member : group) {
      if (static_cast<std::int32_t>(member.offset - least) < 0) least = member.offset;
    }
    std::set<std::uint32_t> offsets;
    for (const Member& member : group) offsets.insert(member.offset - least);
    if (*offsets.rbegin() != size - 1 || offsets.size() < (stores ? size : (size + 1) / 2)) return;
    if (stores && offsets.size() != group.size()) return;
    Record record{size, group.back().stmt, {}};
    for (const Member& member : group) {
      record.members.emplace_back(member.stmt, member.load);
      records_.places[record.members.back()] = {records_.all.size(), member.offset - least};
    }
    records_.all.push_back(std::move(record));
  }

  const Program& program_;
  const Body& body_;
  const Shapes& shapes_;
  std::vector<ExprId> bound_;
  std::map<Key, Group> loads_;
  std::map<Key, Group> stores_;
  std::vector<std::pair<Group, std::int32_t>> closed_;
  Records records_;
};

}  // namespace

Split split_index(const Body& body, std::span<const ExprId> bound, ExprId id) {
  Split result;
  std::vector<std::pair<ExprId, bool>> work{{id, false}};  // and whether it is subtracted
  for (int steps = 0; !work.empty(); ++steps) {
    const auto [at, minus] = work.back();
    work.pop_back();
    const Expr& expr = body[at];
    const bool is_sum = expr.op == Operation::Add || expr.op == Operation::Sub;
    if (expr.op == Operation::Literal) {
      result.offset += minus ? std::uint32_t{0} - expr.imm : expr.imm;
    } else if (is_sum && steps < kMaxTerms) {
      work.emplace_back(expr.args[0], minus);
      work.emplace_back(expr.args[1], minus != (expr.op == Operation::Sub));
    } else if (expr.op == Operation::Local && bound[expr.imm].exists() && steps < kMaxTerms) {
      const Expr& value = body[bound[expr.imm]];
      const bool sums = value.op == Operation::Add || value.op == Operation::Sub;
      sums ? (void)work.emplace_back(bound[expr.imm], minus)
           : (void)result.terms.emplace_back(at, minus);
    } else {
      result.terms.emplace_back(at, minus);
    }
  }
  std::ranges::sort(result.terms);
  return result;
}

Records find_records(const Program& program, const Shapes& shapes) {
  return Finder(program, shapes).find();
}

}  // namespace vyre

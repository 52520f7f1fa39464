#include "vyre/backends/cpu/records.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "vyre/ir/types.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

constexpr std::uint32_t kMaxSize = 16;

class Finder {
 public:
  explicit Finder(const Lowered& lowered) : lowered_(lowered) {}

  Records find() {
    BlockStack<OpenBlock> stack(body_);
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i);
      const auto block =
          static_cast<std::uint32_t>(stack.frames().size() > 1 ? stack.back().owner + 1 : 0);
      // The two sides of a branch are not one block.
      visit(StmtId{i}, 2 * block + (stack.back().is_else ? 1 : 0));
      stack.open(i);
    }
    for (auto& [key, group] : loads_) add(group, key.stride, false);
    close([](const Key&) { return true; });
    return std::move(records_);
  }

 private:
  struct Member {
    StmtId stmt;
    ExprId load;
    std::uint32_t offset;
  };
  using Group = std::vector<Member>;
  // What the members of a record have in common.
  struct Key {
    std::uint32_t block;
    BufferId buffer;
    Terms terms;
    std::int32_t stride;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Place {
    Key key;
    std::uint32_t offset;
  };

  std::optional<Place> place_of(std::uint32_t block, BufferId buffer, ExprId index) const {
    const DataType element = lowered_.program.buffers[buffer.index].element;
    const bool is_private = lowered_.program.buffers[buffer.index].access == BufferAccess::Private;
    if (min_bytes(element) != 4 || element == DataType::Bool || is_private) return std::nullopt;
    const Shape& shape = lowered_.shapes[index];
    if (shape.kind != Shape::Kind::Linear || shape.stride < 2 ||
        shape.stride > static_cast<std::int32_t>(kMaxSize) ||
        !std::has_single_bit(static_cast<std::uint32_t>(shape.stride))) {
      return std::nullopt;
    }
    SplitIndex split = split_index(body_, lowered_.places.bound, index);
    return Place{{block, buffer, std::move(split.terms), shape.stride}, split.offset};
  }

  void visit(StmtId id, std::uint32_t block) {
    const Stmt& stmt = body_[id];
    for_each_below(body_, roots(stmt), [&](ExprId at) {
      const Expr& expr = body_[at];
      if (expr.op != Operation::Load) return;
      const BufferId buffer{expr.imm};
      if (is_written(lowered_.program.buffers[buffer.index].access)) {
        return close([&](const Key& key) { return key.buffer == buffer; });
      }
      if (const std::optional<Place> place = place_of(block, buffer, expr.args[0])) {
        loads_[place->key].push_back({id, at, place->offset});
      }
    });
    const auto close_all = [&](const auto&) { close([](const Key&) { return true; }); };
    vyre::visit(
        stmt,
        [&](const Store& store) {
          const std::optional<Place> place = place_of(block, store.buffer, store.index);
          // Another store to the buffer comes after those before.
          close([&](const Key& other) {
            return other.buffer == store.buffer && (!place || other != place->key);
          });
          if (place) stores_[place->key].push_back({id, {}, place->offset});
        },
        Nothing<Let, Assign, SetElement, Continue>(), close_all);
  }

  // Stores that may not wait any longer.
  template <class Which>
  void close(Which which) {
    std::erase_if(stores_, [&](auto& each) {
      if (!which(each.first)) return false;
      add(each.second, each.first.stride, true);
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

  const Lowered& lowered_;
  const Body& body_ = lowered_.program.body;
  std::map<Key, Group> loads_;
  std::map<Key, Group> stores_;
  Records records_;
};

}  // namespace

Records find_records(const Lowered& lowered) { return Finder(lowered).find(); }

}  // namespace vyre

// A store with which all invocations of a workgroup overwrite one element (L008).
#include "vyre/warnings/checks.h"

#include "vyre/base/text.h"
#include "vyre/ir/run.h"
#include "vyre/ir/uniformity.h"

namespace vyre {
namespace {

// The buffers, as if what invocations write were the same for all of them until they differ.
std::vector<BufferDecl> as_shared(std::span<const BufferDecl> buffers) {
  std::vector<BufferDecl> shared(buffers.begin(), buffers.end());
  for (BufferDecl& buffer : shared) {
    if (is_written(buffer.access)) buffer.access = BufferAccess::ReadOnly;
  }
  return shared;
}

bool loads_from(const Body& body, ExprId value, BufferId buffer) {
  bool found = false;
  for_each_below(body, std::array{value}, [&](ExprId id) {
    found = found || (body[id].op == Operation::Load && BufferId{body[id].imm} == buffer);
  });
  return found;
}

}  // namespace

void check_stores(const Written& item) {
  Context& context = item.context;
  if (context.program == nullptr) return;
  if (invocations_of(*context.program) == 1) return;
  const Body& body = context.body;
  const Uniformity surely = uniformity_of(body, context.buffers);
  // What differs for sure: a value that comes from one element does not, unless the element is the
  // one that everybody changes.
  const Uniformity maybe = uniformity_of(body, as_shared(context.buffers));
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const Store* store = std::get_if<Store>(&body.stmts[i]);
    if (store == nullptr || !surely[StmtId{i}] || !surely[store->index]) continue;
    if (maybe[store->value] && !loads_from(body, store->value, store->buffer)) continue;
    context.report<message::store_by_all>({Place::Accessed, i},
                                          shorten(context.buffers[store->buffer.index].name));
  }
}

}  // namespace vyre

// A store with which all invocations of a workgroup overwrite one element (L008).
#include "vyre/warnings/checks.h"

#include "vyre/base/text.h"
#include "vyre/ir/uniformity.h"

namespace vyre {

void check_stores(const Written& item) {
  Context& context = item.context;
  if (context.program == nullptr) return;
  const std::array<std::uint32_t, 3>& size = context.program->workgroup_size;
  if (std::uint64_t{size[0]} * size[1] * size[2] == 1) return;
  const Uniformity uniform = uniformity_of(context.body, context.buffers);
  for (std::uint32_t i = 0; i < context.body.stmts.size(); ++i) {
    const Store* store = std::get_if<Store>(&context.body.stmts[i]);
    if (store == nullptr || !uniform[StmtId{i}]) continue;
    if (!uniform[store->index] || uniform[store->value]) continue;
    context.report<message::store_by_all>({Place::Accessed, i},
                                          shorten(context.buffers[store->buffer.index].name));
  }
}

}  // namespace vyre

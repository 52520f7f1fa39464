// Which buffers may be stored to and updated atomically, and with what.
#include "vyre/validate/context.h"

namespace vyre {
namespace {

void check_index(Context& context, std::uint32_t stmt, const BufferDecl& buffer, ExprId index) {
  const DataType type = context.types[index];
  if (type != DataType::U32 && type != DataType::Unknown) {
    context.report<message::index_type>(context.root(stmt, 0), buffer.name, type);
  }
}

void check_store(Context& context, std::uint32_t stmt, const Store& store) {
  if (!store.buffer.exists()) return;
  const BufferDecl& buffer = context.buffers[store.buffer.index];
  check_index(context, stmt, buffer, store.index);
  if (buffer.access == BufferAccess::ReadOnly || buffer.access == BufferAccess::Uniform) {
    context.report<message::store_to_read_only>(Place::accessed(stmt), buffer.name,
                                                text(buffer.access));
  }
  const DataType element = loaded_type(buffer.element);
  const DataType value = context.types[store.value];
  if (value != element && value != DataType::Unknown) {
    context.report<message::stored_type>(context.root(stmt, 1), buffer.name, element, value);
  }
}

void check_atomic(Context& context, std::uint32_t stmt, const Atomic& atomic) {
  if (!atomic.buffer.exists()) return;
  const BufferDecl& buffer = context.buffers[atomic.buffer.index];
  check_index(context, stmt, buffer, atomic.index);
  if (buffer.access != BufferAccess::ReadWrite) {
    context.report<message::atomic_access>(Place::accessed(stmt), buffer.name, text(buffer.access));
  }
  if (!contains(type_sets::Word, buffer.element)) {
    context.report<message::atomic_element>(Place::accessed(stmt), buffer.name, buffer.element);
    return;
  }
  std::size_t k = 1;
  for (ExprId operand : {atomic.expected, atomic.value}) {
    if (!operand.exists()) continue;
    const DataType value = context.types[operand];
    if (value != buffer.element && value != DataType::Unknown) {
      context.report<message::atomic_operand>(context.root(stmt, k), buffer.name, buffer.element,
                                              value);
    }
    ++k;
  }
}

}  // namespace

void check_memory(Context& context) {
  for (std::uint32_t i = 0; i < context.body.stmts.size(); ++i) {
    const Stmt& stmt = context.body.stmts[i];
    if (const Store* store = std::get_if<Store>(&stmt)) check_store(context, i, *store);
    if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) check_atomic(context, i, *atomic);
  }
}

}  // namespace vyre

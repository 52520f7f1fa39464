// What the function that is being written finds around it: the arguments, the buffers, and memory
// of its own and of the thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "vyre/backends/cpu/facts.h"
#include "vyre/backends/cpu/ir.h"

namespace vyre {

// Memory of the function that is being written; or of the thread, where several functions use it.
struct Slot {
  Ir::Value address = nullptr;  // in the function
  bool is_shared = false;
  std::uint64_t offset = 0;  // in the memory of the thread

  bool exists() const { return is_shared || address; }
};

struct BufferSlot {
  Ir::Value address = nullptr;
  Ir::Value length = nullptr;    // i64
  Ir::Value copy = nullptr;      // of this thread alone; null: there is none
  Ir::Value has_copy = nullptr;  // whether it is in use
  bool is_local = false;         // of the function
  std::uint64_t offset = 0;      // in the memory of the thread, of workgroup memory
  Ir::Value table = nullptr;     // of constant memory: where it is, in any function
  Slot own = {};                 // of private memory: that of a gang, or of all of them
};

class Frame {
 public:
  using Value = Ir::Value;

  // What locals that live across barriers, and workgroup memory, may take on the stack.
  static constexpr std::uint64_t kMaxStackBytes = std::uint64_t{128} << 10;
  // Bytes that go through the caches together.
  static constexpr std::uint32_t kLine = 64;

  // Where the functions of a large program find what all of them use, in the memory of the thread.
  static constexpr std::uint64_t kArguments = 0;
  static constexpr std::uint64_t kGroup = 8;  // the ids
  static constexpr std::uint64_t kRow = 24;
  static constexpr std::uint64_t kGangInRow = 32;
  static constexpr std::uint64_t kGang = 40;
  static constexpr std::uint64_t kLeaving = 48;  // how all invocations leave a function early
  static constexpr std::uint64_t kVectors = 64;  // of 32 bits a lane: the local ids, a mask
  static constexpr std::size_t kMask = 3;
  std::uint64_t vector_at(std::size_t which) const { return kVectors + which * facts.width * 4; }

  Frame(Ir& to, const CpuFacts& known) : facts(known), ir(to) {}

  // --- Functions
  Value declare(const std::string& name, std::vector<Ir::Type> parameters,
                bool is_exported = false);
  // Of the kernel, from the memory that `arguments` points to.
  Value argument(std::size_t i) { return ir.at(ir.i64, arguments, i); }
  void load_arguments();
  // One of the functions of a large program, which get the memory of the thread.
  Value declare_part(const std::string& name) { return declare(name, {ir.pointer()}); }
  void call_part(Value function) { ir.call_function(function, std::array{scratch}); }
  // At the beginning of one that is a piece of the program.
  void enter_piece(std::uint32_t number);
  // The function ends here if the run shall end.
  void leave_if_stopped();

  // --- Memory
  // A slot for each buffer. What is in memory that cannot be written is made here.
  void make_buffers();
  // Memory of the thread, aligned for any vector that it holds.
  std::uint64_t reserve(std::uint64_t bytes);
  // Whether there is room on the stack, which is taken then.
  bool take_stack(std::uint64_t bytes, std::uint64_t most = kMaxStackBytes) {
    if (stack_taken_ + bytes > most) return false;
    stack_taken_ += bytes;
    return true;
  }
  Value at(std::uint64_t offset) { return ir.at(ir.i8, scratch, offset); }
  Slot make_slot(Ir::Type type, std::uint64_t bytes, const char* name, bool is_shared);
  Value address(const Slot& slot);
  BufferSlot& buffer(BufferId id);
  // Of an element, where the index is a scalar. `may_wrap`: the first lane of a row may be below
  // zero.
  Value element_address(const BufferSlot& buffer, DataType element, Value index,
                        bool may_wrap = false);
  Value in_bounds(Value index, const BufferSlot& buffer);

  const CpuFacts& facts;
  Ir& ir;
  const Value zeros = ir.constant_memory(ir.zero(ir.vector(ir.i64, 2)), "zeros");
  std::uint32_t piece = 0;  // the number of the one that is being written
  std::uint64_t scratch_bytes = 0;
  std::vector<BufferSlot> buffers;
  Value arguments;
  Value scratch;
  std::array<Value, 3> group{};   // the ids of the workgroup
  std::array<Value, 3> groups{};  // how many there are
  std::array<Value, 3> grid{};    // and how many the dispatch has, i32
  std::array<Value, 2> limits{};  // invocations along x and y, i64
  Value row_size;                 // invocations along x of a workgroup, where that is free
  Value streams;                  // whether what is written does not fit the caches
  Value sink;                     // 16 bytes that nobody reads

 private:
  std::uint64_t stack_taken_ = 0;             // of kMaxStackBytes
  Value stop_;                                // the address of a byte that is set to end the run
  std::map<std::uint64_t, Value> addresses_;  // of slots that are shared, in this function
};

}  // namespace vyre

// Shapes, buffers and what is in them; the bodies come from BodyGenerator. Compilers choose the
// order in which they evaluate arguments, so each random choice is a separate statement.
#include "vyre/conform/generator.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "vyre/conform/body_generator.h"

namespace vyre {
namespace {

// What WebGPU grants everywhere is twice as much.
constexpr std::uint32_t kMaxWorkgroupBytes = 8 << 10;
constexpr std::uint32_t kMaxLength = 1024;  // of a buffer, in elements

// Lines, areas and boxes; odd sizes, powers of two, and axes with one place. Workgroups that fill
// no vector, or more than a few, are as many as others; a few are as large as they get.
CaseShape make_shape(Random& random, const GeneratorOptions& options) {
  constexpr std::array<std::uint32_t, 18> kLines = {1,  2,  3,  4,  5,  7,  8,  13, 16,
                                                    16, 31, 32, 33, 48, 64, 64, 96, 128};
  constexpr std::array<std::uint32_t, 7> kSides = {1, 2, 3, 4, 5, 8, 16};
  constexpr std::array<std::uint32_t, 8> kGroups = {1, 1, 2, 2, 3, 4, 6, 7};
  CaseShape shape;
  const bool large = random.one_in(64);
  const std::uint32_t most = large ? options.invocations : std::min(options.invocations, 256u);
  const std::uint32_t dimensions = large ? 0 : 1 + random.below(3);
  if (large) shape.size[0] = 512 + random.below(513);
  if (large && random.one_in(2)) shape.size = {31 + random.below(2), 8, 4};
  if (dimensions == 1)
    shape.size[0] = random.one_in(3) ? 1 + random.below(40) : random.pick(kLines);
  if (dimensions == 2) {
    for (std::size_t axis = 0; axis < 2; ++axis) shape.size[axis] = random.pick(kSides);
  }
  if (dimensions == 3) {
    for (std::uint32_t& size : shape.size) size = 1 + random.below(5);
  }
  const std::uint32_t grid_dimensions = large ? 0 : random.below(4);  // 0: a single workgroup
  for (std::uint32_t axis = 0; axis < grid_dimensions; ++axis) {
    shape.grid[axis] = random.pick(kGroups);
  }
  for (Ids* extents : {&shape.grid, &shape.size}) {
    while (shape.invocations() > most && volume(*extents) > 1) {
      *std::ranges::max_element(*extents) /= 2;
    }
  }
  return shape;
}

BufferDecl make_buffer(Random& random, const GeneratorOptions& options, BufferAccess access,
                       const CaseShape& shape, std::uint32_t number) {
  BufferDecl buffer;
  buffer.name = std::string(text(access)) + std::to_string(number);
  buffer.access = access;
  const bool workgroup = access == BufferAccess::Workgroup;
  const bool narrow = options.dense && random.one_in(2);
  do {
    buffer.element = random.pick(all_types()).type;
  } while (narrow ? !is_narrow(buffer.element) : workgroup && buffer.element == DataType::Bytes);
  if (!workgroup) {
    if (random.one_in(4)) buffer.count = 1 + random.below(64);
    return buffer;
  }
  // As many elements as invocations, a few times as many, or any number.
  const std::uint32_t each = 1 + random.below(4);
  const std::uint32_t any = 1 + random.below(64);
  buffer.count = random.one_in(3) ? any : shape.group() * each;
  return buffer;
}

std::vector<BufferDecl> make_buffers(Random& random, const GeneratorOptions& options,
                                     const CaseShape& shape) {
  constexpr std::array kAccesses = {BufferAccess::ReadOnly, BufferAccess::ReadWrite,
                                    BufferAccess::ReadWrite, BufferAccess::Uniform,
                                    BufferAccess::Workgroup};
  std::vector<BufferDecl> buffers;
  std::uint32_t workgroup_bytes = kMaxWorkgroupBytes;
  const auto add = [&](BufferAccess access) {
    BufferDecl buffer =
        make_buffer(random, options, access, shape, static_cast<std::uint32_t>(buffers.size()));
    if (access == BufferAccess::Workgroup) {
      const std::uint32_t each = stride(buffer.element);
      buffer.count = std::min(buffer.count, workgroup_bytes / each);
      if (buffer.count == 0) return;
      workgroup_bytes -= buffer.count * each;
    }
    buffers.push_back(std::move(buffer));
  };
  for (BufferAccess access : kAccesses) add(access);
  for (std::uint32_t more = random.below(options.buffers + 1); more > 0; --more) {
    add(random.pick(kAccesses));
  }
  random.shuffle(buffers);
  std::vector<std::uint32_t> bindings(buffers.size() * 2);
  for (std::uint32_t i = 0; i < bindings.size(); ++i) bindings[i] = i;
  random.shuffle(bindings);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].access != BufferAccess::Workgroup) buffers[i].binding = bindings[i];
  }
  return buffers;
}

// None, one for each invocation, a few for each, nearly so many, about as many as fill vectors, or
// any number. There is always room for results.
std::uint32_t make_length(Random& random, const BufferDecl& buffer, const CaseShape& shape,
                          bool is_result) {
  const std::uint32_t choice = (is_result ? 3 : 0) + random.below(is_result ? 9 : 18);
  const std::uint32_t invocations = std::max(1u, shape.invocations());
  std::uint32_t length = random.below(64);
  if (choice == 0) length = 0;
  if (choice == 1) length = 1;
  if (choice == 2) length = invocations - 1;
  if (choice >= 3 && choice < 8) length = invocations;
  if (choice >= 8 && choice < 12) length = invocations * (2 + length % 3);
  if (choice == 12 || choice == 13)
    length = (4u << length % 3) * (1 + length / 16) + length % 4 - 1;
  return std::max(std::min(length, kMaxLength), buffer.count);
}

std::vector<std::byte> make_contents(Random& random, const BufferDecl& buffer,
                                     const CaseShape& shape, bool is_result) {
  std::vector<std::byte> bytes;
  if (buffer.access == BufferAccess::Workgroup) return bytes;
  const std::uint32_t length = make_length(random, buffer, shape, is_result);
  const DataType number = is_vector(buffer.element) || buffer.element == DataType::Bytes
                              ? DataType::U32
                              : buffer.element;
  const std::size_t total = std::size_t{length} * stride(buffer.element);
  bytes.reserve(total);
  while (bytes.size() < total) {
    Bits bits = random_value(random, number);
    // A bool in memory is any word; only zero is false.
    if (number == DataType::Bool && random.one_in(3)) {
      bits = random_value(random, DataType::U32);
    }
    const std::span<const std::byte> all =
        std::as_bytes(std::span(bits.lanes)).first(min_bytes(number));
    bytes.insert(bytes.end(), all.begin(), all.end());
  }
  // The last word of a Bytes buffer is completed with zeros.
  if (buffer.element == DataType::Bytes && length > buffer.count && random.one_in(2)) {
    bytes.resize(bytes.size() - 1 - random.below(3));
  }
  return bytes;
}

// Text has room for one table of a name.
std::vector<ConstTable> make_tables(Random& random) {
  std::vector<ConstTable> tables;
  for (std::uint32_t count = 1 + random.below(4); tables.size() < count;) {
    DataType element = DataType::Bytes;
    while (element == DataType::Bytes) element = random.pick(all_types()).type;
    const std::uint32_t choice = random.below(16);
    std::uint32_t length = 1 + random.below(choice < 8 ? 8 : 64);
    if (choice == 14) length = 256;
    if (choice == 15 && random.one_in(8)) length = kMaxArrayCount + random.below(1000);
    const DataType number = is_vector(element) ? DataType::U32 : element;
    std::vector<std::byte> bytes;
    while (bytes.size() < std::size_t{length} * stride(element)) {
      const Bits bits = random_value(random, number);
      const auto all = std::as_bytes(std::span(bits.lanes)).first(min_bytes(number));
      bytes.insert(bytes.end(), all.begin(), all.end());
    }
    tables.push_back(
        {"table" + std::to_string(tables.size()), element, Contents(std::move(bytes))});
  }
  return tables;
}

// What the bodies of a module have in common.
struct Known {
  std::vector<Callable> callables;
  std::vector<ConstTable> tables;
};

Program make_program(Random& random, const GeneratorOptions& options, const Known& known,
                     const CaseShape& shape, std::uint32_t number) {
  Program program;
  program.name = "generated" + std::to_string(number);
  program.workgroup_size = shape.size;
  program.buffers = make_buffers(random, options, shape);
  BodyGenerator(random, options, known.callables, known.tables).program(program, shape);
  return program;
}

// Words of the language may be parts of an id.
Op make_op(Random& random, const GeneratorOptions& options, std::uint32_t number) {
  constexpr std::array<std::string_view, 6> kFamilies = {"gen",     "gen.if", "gen.u32",
                                                         "let.for", "x.y",    "min.len"};
  constexpr std::array<std::string_view, 5> kDescriptions = {
      "", "plain", "\"quoted\" and \\ escaped", "two\nlines\tand a tab", "größer als ∞"};
  const std::vector<DataType> types = value_types();
  Op op;
  op.id = std::string(random.pick(kFamilies)) + ".op" + std::to_string(number);
  op.description = random.pick(kDescriptions);
  constexpr std::uint32_t kMost = 64;  // elements
  const auto type = [&] {
    const bool is_array = random.one_in(options.dense ? 2 : 5);
    return is_array ? random_array(random, kMost) : random.pick(types);
  };
  for (std::uint32_t count = random.below(5); count > 0; --count) {
    op.signature.inputs.push_back(type());
  }
  op.signature.output = type();
  return op;
}

Known add_ops(Random& random, const GeneratorOptions& options, Module& module) {
  Known known{{}, make_tables(random)};
  constexpr int kFromLibrary = 3;
  for (int i = 0; i < kFromLibrary; ++i) {
    const Op* op = random.pick(plain_library());
    known.callables.push_back({op->id, op->signature});
  }
  for (std::uint32_t i = 0; i < options.ops; ++i) {
    Op op = make_op(random, options, i);
    const Callable made = BodyGenerator(random, options, known.callables, known.tables).op(op);
    known.callables.push_back(made);
    module.items.emplace_back(std::move(op));
  }
  return known;
}

}  // namespace

Case generate_case(std::uint64_t seed, const GeneratorOptions& options) {
  Random random(seed);
  Case c;
  const Known known = add_ops(random, options, c.module);
  const CaseShape shape = make_shape(random, options);
  c.module.items.emplace_back(make_program(random, options, known, shape, 0));
  const std::vector<BufferDecl>& buffers = c.program().buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    c.contents.push_back(make_contents(random, buffers[i], shape, i == result_buffer(buffers)));
  }
  c.grid = shape.grid;
  if (random.one_in(40)) c.grid[random.below(3)] = 0;
  return c;
}

Module generate(std::uint64_t seed, const GeneratorOptions& options) {
  Random random(seed);
  Module module;
  const Known known = add_ops(random, options, module);
  for (std::uint32_t i = 0; i < options.programs; ++i) {
    const CaseShape shape = make_shape(random, options);
    module.items.emplace_back(make_program(random, options, known, shape, i));
  }
  random.shuffle(module.items);
  return module;
}

}  // namespace vyre

#include "bench/growth_families.h"

#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "vyre/ir/ops.h"
#include "vyre/ir/types.h"

namespace {

using vyre::DataType;

// All parts in a row.
template <class... Parts>
std::string line(const Parts&... parts) {
  std::string out;
  const auto put = [&](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>) {
      out += std::to_string(part);
    } else {
      out += part;
    }
  };
  (put(parts), ...);
  return out;
}

// A program that starts from `x`, `y` of a type and ends by storing `x`.
std::string program(std::string_view type, const std::string& body, std::string_view buffers = "",
                    int workgroup = 64) {
  return line("program p workgroup(", workgroup, ") {\n  read a: ", type,
              "[]\n  read_write out: ", type, "[]\n", buffers,
              "  let i = invocation_id.x\n  let x = a[i]\n  let y = a[i + 1]\n", body,
              "  out[i] = x\n}\n");
}

template <class Statement>
std::string repeat(int n, Statement statement) {
  std::string out;
  for (int k = 0; k < n; ++k) out += statement(k);
  return out;
}

// A family of programs that repeat a statement.
template <class Statement>
GrowthFamily straight(std::string name, std::string type, Statement statement) {
  return {std::move(name),
          [=](int n) { return program(type, repeat(n, [&](int k) { return statement(k); })); }};
}

// --- Operations on values
// -------------------------------------------------------------------------

struct ValueType {
  std::string name;
  DataType type;
  bool is_vector;
};
const std::vector<ValueType>& value_types() {
  static const std::vector<ValueType> all = {
      {"u32", DataType::U32, false},        {"i32", DataType::I32, false},
      {"u64", DataType::U64, false},        {"u128", DataType::U128, false},
      {"vec2u32", DataType::Vec2U32, true}, {"vec4u32", DataType::Vec4U32, true},
  };
  return all;
}

// A constant of a type, another one for each k.
std::string constant(const ValueType& type, int k) {
  const std::string number = std::to_string(2 * k + 3);
  if (type.type == DataType::Vec2U32) return line("vec2u32(", number, ", ", k, ")");
  if (type.type == DataType::Vec4U32) return line("vec4u32(", number, ", ", k, ", 7, ", k + 5, ")");
  return type.type == DataType::U32 ? number : number + type.name;
}

// A count for a shift of a value of the type: vectors have one for each lane.
std::string count(const ValueType& type, const std::string& value) {
  return type.is_vector ? value : line("u32(", value, ")");
}
// The result of a test or a count of bits as a value of the type.
std::string from_test(const ValueType& type, const std::string& test) {
  return type.is_vector ? line("(", test, ")") : line(type.name, "(", test, ")");
}

void add_groups(std::vector<GrowthFamily>& all, const ValueType& type) {
  const auto add = [&](const char* group, auto statement) {
    all.push_back(straight(line(group, ".", type.name), type.name, statement));
  };
  const auto k_of = [type](int k) { return constant(type, k); };
  const bool is_signed = type.type == DataType::I32;
  add("add", [=](int k) {
    static constexpr std::string_view kOps[] = {"+", "-", "^", "&", "|"};
    return line("  x = y ", kOps[k % 5], " (x ^ ", k_of(k), ")\n");
  });
  add("mul", [=](int k) { return line("  x = y * (x ^ ", k_of(k), ")\n"); });
  add("square", [=](int k) {
    const std::string before = k == 0 ? "x" : line("v", k - 1);
    return line("  let v", k, " = ", before, " * ", before, "\n  x = v", k, "\n");
  });
  add("div", [=](int k) { return line("  x = y / (x ^ ", k_of(k), ")\n"); });
  add("mod", [=](int k) { return line("  x = y % (x ^ ", k_of(k), ")\n"); });
  add("div_constant",
      [=](int k) { return line("  x = y ^ x ", k % 2 == 0 ? "/ " : "% ", k_of(k), "\n"); });
  add("shift", [=](int k) {
    return line("  x = (y ", k % 2 == 0 ? "<< " : ">> ", count(type, "x"), ") ^ ", k_of(k), "\n");
  });
  if (!is_signed) {
    add("rotate", [=](int k) {
      return line("  x = rot", k % 2 == 0 ? "l" : "r", "(y, ", count(type, "x"), ") ^ ", k_of(k),
                  "\n");
    });
  }
  add("min_max", [=](int k) {
    return line("  x = ", k % 2 == 0 ? "min" : "max", "(y, x ^ ", k_of(k), ")\n");
  });
  if (!type.is_vector) {
    add("saturate", [=](int k) {
      return line("  x = ", k % 2 == 0 ? "add" : "sub", "_sat(y, x ^ ", k_of(k), ")\n");
    });
  }
  if (type.type == DataType::U32 || type.type == DataType::U64 || type.is_vector) {
    add("mul_high", [=](int k) { return line("  x = mul_high(y, x ^ ", k_of(k), ")\n"); });
  }
  add("bits", [=](int k) {
    static constexpr std::string_view kOps[] = {"popcount", "clz", "ctz"};
    if (k % 4 == 3) return line("  x = reverse_bits(x ^ ", k_of(k), ")\n");
    return line("  x = y ^ ", from_test(type, line(kOps[k % 4], "(x ^ ", k_of(k), ")")), "\n");
  });
  add("compare", [=](int k) {
    static constexpr std::string_view kOps[] = {"<", "==", ">=", "!="};
    return line("  x = x + ", from_test(type, line("x ", kOps[k % 4], " (y ^ ", k_of(k), ")")),
                "\n");
  });
  add("select", [=](int k) {
    return line("  x = select(", type.is_vector ? "x.x < y.y" : "x < y", ", x + ", k_of(k),
                ", y)\n");
  });
  add("cast", [=](int k) {
    static constexpr std::string_view kTypes[] = {"u32", "i32", "bool", "u64", "u128", "vec2u32"};
    std::string_view to = kTypes[k % 6];
    return line("  x = ", type.name, "(",
                type.type == DataType::Vec4U32 && (to == "u64" || to == "vec2u32")
                    ? line("u32(", to, "(x))")
                    : line(to, "(x)"),
                ") + ", k_of(k), "\n");
  });
}

// --- The shape of programs
// ------------------------------------------------------------------------

// Statements inside `depth` others, as often as it takes for n of them.
std::string nests(int n, int depth, const std::function<std::string(int, int)>& head) {
  std::string out;
  for (int done = 0; done < n; done += depth) {
    const int levels = std::min(depth, n - done);
    for (int level = 0; level < levels; ++level)
      out += line("  ", head(done + level, level), " {\n");
    out += line("  x = x + ", done, "\n");
    for (int level = 0; level < levels; ++level) out += "  }\n";
  }
  return out;
}

void add_flow(std::vector<GrowthFamily>& all) {
  const auto add = [&](std::string name, auto body) {
    all.push_back({std::move(name), [=](int n) { return program("u32", body(n)); }});
  };
  const auto chain = [](int n, auto part) {
    return "  " + repeat(n, [&](int k) { return line(k == 0 ? "if " : " else if ", part(k)); }) +
           "\n";
  };
  add("else_if.equal", [=](int n) {
    return chain(n, [](int k) { return line("x == ", k, " { x = ", 3 * k + 1, " }"); });
  });
  add("else_if.many_locals", [=](int n) {
    std::string out = repeat(n, [](int k) { return line("  let v", k, " = a[", k, "]\n"); });
    out += chain(n, [=](int k) {
      return line("v", k, " == ", k, " { v", k * 7 % n, " = v", k * 3 % n, " * 3 }");
    });
    return out + repeat(n, [](int k) { return line("  x = x ^ v", k, "\n"); });
  });
  add("else_if.stores", [=](int n) {
    return chain(n, [](int k) { return line("x < ", k, " { out[i + ", k, "] = x * ", k, " }"); });
  });
  add("else_if.last", [=](int n) {
    return chain(n, [](int k) { return line("(x ^ y) == ", k, " { x = y + ", k, " }"); }) +
           "  else { x = 7 }\n";
  });
  add("else_if.breaks", [=](int n) {
    return "  for k in 0..y {\n  x = x * 3 + k\n" +
           chain(n, [](int k) { return line("x == ", k, " { y = ", k, "\n  break }"); }) + "  }\n";
  });
  add("else_if.returns", [=](int n) {
    return chain(n, [](int k) { return line("x == ", k, " { out[i] = ", k, "\n  return }"); });
  });
  add("else_if.loops", [=](int n) {
    return chain(n, [](int k) { return line("x == ", k, " { for k in 0..y { x = x + k } }"); });
  });
  add("if.same", [=](int n) {
    return repeat(n, [](int k) { return line("  if a[i] > y { x = x * y + ", k, " }\n"); });
  });
  add("if.many_locals", [=](int n) {
    return repeat(n, [](int k) { return line("  let v", k, " = a[i + ", k, "]\n"); }) +
           repeat(n, [](int k) { return line("  if x > v", k, " { v", k, " = y * 3 }\n"); }) +
           repeat(n, [](int k) { return line("  x = x ^ v", k, "\n"); });
  });
  add("if.sequence", [=](int n) {
    return repeat(n, [](int k) { return line("  if x > ", k, " { x = x * y + ", k, " }\n"); });
  });
  add("if.else", [=](int n) {
    return repeat(n, [](int k) {
      return line("  if (x & ", k + 1, ") == 0 { x = x * y } else { y = y + ", k, " }\n");
    });
  });
  add("if.nests",
      [=](int n) { return nests(n, 60, [](int k, int) { return line("if x > ", k); }); });
  add("if.stores", [=](int n) {
    return repeat(n, [](int k) { return line("  if x > ", k, " { out[i * 3 + ", k, "] = y }\n"); });
  });
  add("if.returns", [=](int n) {
    return repeat(n, [](int k) { return line("  if x == ", 3 * k, " { return }\n  x = x * y\n"); });
  });
  add("if.guards", [=](int n) {
    return repeat(
        n, [](int k) { return line("  if i + ", k, " < len(a) { x = x + a[i + ", k, "] }\n"); });
  });
  add("loop.nests",
      [=](int n) { return nests(n, 60, [](int k, int) { return line("for k", k, " in 0..y"); }); });
  add("loop.nests_constant", [=](int n) {
    return nests(n, 3, [](int k, int level) { return line("for k", k, " in 0..", level + 9); });
  });
  add("loop.sequence", [=](int n) {
    return repeat(n, [](int k) { return line("  for k in 0..y { x = x * 5 + (k ^ ", k, ") }\n"); });
  });
  add("loop.short", [=](int n) {
    return repeat(n, [](int k) { return line("  for k in 0..4 { x = x * y + k + ", k, " }\n"); });
  });
  add("loop.constant", [=](int n) {
    return repeat(n,
                  [](int k) { return line("  for k in 0..1000 { x = x * y + k + ", k, " }\n"); });
  });
  add("loop.break", [=](int n) {
    return repeat(n, [](int k) {
      return line("  for k in 0..y { x = x * 3 + k\n if x == ", k, " { break } }\n");
    });
  });
  add("loop.many_breaks", [=](int n) {
    return "  for k in 0..y {\n" +
           repeat(n, [](int k) { return line("  x = x * 3 + k\n  if x == ", k, " { break }\n"); }) +
           "  }\n";
  });
  add("loop.loads", [=](int n) {
    return repeat(n,
                  [](int k) { return line("  for k in 0..len(a) { x = x + a[k + ", k, "] }\n"); });
  });
  add("loop.long_body", [=](int n) {
    return "  for k in 0..y {\n" +
           repeat(n, [](int k) { return line("  x = x * 5 + a[k + ", k, "]\n"); }) + "  }\n";
  });
  add("loop.invariants", [=](int n) {
    return "  for k in 0..y {\n" +
           repeat(n, [](int k) { return line("  x = x ^ (i * ", k + 3, " + a[i + ", k, "])\n"); }) +
           "  }\n";
  });
  add("loop.deep_body", [=](int n) {
    std::string out;
    for (int level = 0; level < 50; ++level) out += line("  for k", level, " in 0..y {\n");
    out += repeat(n, [](int k) { return line("  x = x * 5 + ", k, "\n  out[i] = x\n"); });
    for (int level = 0; level < 50; ++level) out += "  }\n";
    return out;
  });
  add("loop.many_locals", [=](int n) {
    return repeat(n, [](int k) { return line("  let v", k, " = a[i + ", k, "]\n"); }) +
           "  for k in 0..y {\n" +
           repeat(n, [=](int k) { return line("  v", k, " = v", (k + 1) % n, " + k\n"); }) +
           "  }\n" + repeat(n, [](int k) { return line("  x = x ^ v", k, "\n"); });
  });
  add("block.sequence", [=](int n) {
    return repeat(n, [](int k) { return line("  { let t = x * ", k, "\n  x = t ^ y }\n"); });
  });
}

// --- Memory
// ---------------------------------------------------------------------------------------

void add_memory(std::vector<GrowthFamily>& all) {
  const auto add = [&](std::string name, std::string type, auto body, std::string buffers = "",
                       int workgroup = 64) {
    all.push_back(
        {std::move(name), [=](int n) { return program(type, body(n), buffers, workgroup); }});
  };
  all.push_back({"buffer.declared", [](int n) {
                   return program("u32", "", repeat(n, [](int k) {
                                    return line("  read b", k, ": u32[]\n");
                                  }));
                 }});
  all.push_back(
      {"buffer.loaded_and_stored", [](int n) {
         return program(
             "u32",
             repeat(n, [](int k) { return line("  x = x + b", k, "[i]\n  b", k, "[i] = x\n"); }),
             repeat(n, [](int k) { return line("  read_write b", k, ": u32[]\n"); }));
       }});
  all.push_back(
      {"buffer.types", [](int n) {
         static constexpr std::string_view kTypes[] = {"u64", "u128", "vec4u32", "bool", "i32"};
         return program(
             "u32", repeat(n, [](int k) { return line("  x = x ^ u32(b", k, "[x + i])\n"); }),
             repeat(n, [](int k) { return line("  read b", k, ": ", kTypes[k % 5], "[]\n"); }));
       }});
  all.push_back({"buffer.workgroup", [](int n) {
                   return program(
                       "u32",
                       repeat(n, [](int k) { return line("  s", k, "[local_id.x & 3] = x\n"); }) +
                           "  barrier\n" +
                           repeat(n, [](int k) { return line("  x = x + s", k, "[3]\n"); }),
                       repeat(n, [](int k) { return line("  workgroup s", k, ": u32[4]\n"); }), 4);
                 }});
  add("load.offsets", "u32", [](int n) {
    return repeat(n, [](int k) { return line("  x = x * 5 + a[i + ", k, "]\n"); });
  });
  add("load.strides", "u32", [](int n) {
    return repeat(n, [](int k) { return line("  x = x ^ a[i * ", k + 2, " + y]\n"); });
  });
  add("load.chain", "u32",
      [](int n) { return repeat(n, [](int k) { return line("  x = a[x + ", k, "]\n"); }); });
  // What is the same in all lanes is numbers, not vectors.
  const auto uniform = [&](const char* name, std::string type, auto statement) {
    add(line("uniform.", name, ".", type), type,
        [=](int n) { return "  let u = a[0]\n" + repeat(n, statement) + "  x = x ^ u\n"; });
  };
  for (const char* type : {"u32", "u64", "u128", "vec4u32"}) {
    uniform("reverse_bits", type, [](int) { return line("  u = reverse_bits(u) + a[0]\n"); });
    uniform("mul", type, [](int k) { return line("  u = u * (a[", k, "] | u)\n"); });
    uniform("div", type, [](int k) { return line("  u = a[", k, "] / u\n"); });
  }
  for (const char* type : {"u32", "vec4u32"}) {
    uniform("shift", type, [](int) { return line("  u = u << u >> u\n"); });
  }
  for (const char* type : {"u32", "u64", "vec4u32"}) {
    uniform("mul_high", type, [](int) { return line("  u = mul_high(u, ~u)\n"); });
  }
  add("load.gathers", "vec4u32",
      [](int n) { return repeat(n, [](int k) { return line("  x = x + a[x.x ^ ", k, "]\n"); }); });
  add("load.constants", "u32",
      [](int n) { return repeat(n, [](int k) { return line("  x = x * 5 + a[", k, "]\n"); }); });
  add(
      "load.uniform", "u32",
      [](int n) {
        return repeat(n, [](int k) { return line("  x = x * 5 + u[", k % 4096, "]\n"); });
      },
      "  uniform u: u32[4096]\n");
  add("load.wide", "u128", [](int n) {
    return repeat(n, [](int k) { return line("  x = x + a[i * 7 + ", k, "]\n"); });
  });
  add(
      "load.bytes", "u32",
      [](int n) {
        return repeat(n, [](int k) { return line("  x = x + (b[i + ", k, "] >> 8 & 255)\n"); });
      },
      "  read b: bytes\n");
  add("store.offsets", "u32", [](int n) {
    return repeat(n, [](int k) { return line("  out[i * 9 + ", k, "] = x + ", k, "\n"); });
  });
  add("store.anywhere", "u32", [](int n) {
    return repeat(n, [](int k) { return line("  out[x * ", k + 3, "] = x\n  x = x + out[y]\n"); });
  });
  add("store.vectors", "vec4u32", [](int n) {
    return repeat(n, [](int k) { return line("  out[i * 9 + ", k, "] = x * y\n"); });
  });
  add("store.load", "u32", [](int n) {
    return repeat(
        n, [](int k) { return line("  out[i + ", k, "] = x\n  x = x * 3 + out[i + ", k, "]\n"); });
  });
  add("store.bools", "bool", [](int n) {
    return repeat(n, [](int k) { return line("  out[i * 5 + ", k, "] = x ^ a[i + ", k, "]\n"); });
  });
  add("atomic.plain", "u32", [](int n) {
    return repeat(n, [](int k) { return line("  atomic_add(out[x + ", k, "], y)\n"); });
  });
  add("atomic.result", "u32", [](int n) {
    return repeat(n, [](int k) {
      return line("  let v", k, " = atomic_max(out[x + ", k, "], y)\n  x = x + v", k, "\n");
    });
  });
  add("atomic.exchange", "i32", [](int n) {
    return repeat(n, [](int k) {
      return line("  let v", k, " = atomic_compare_exchange(out[i + ", k, "], x, y)\n  x = v", k,
                  "\n");
    });
  });
  const std::string shared = "  workgroup s: u32[64]\n";
  add(
      "barrier.exchange", "u32",
      [](int n) {
        return repeat(n, [](int k) {
          return line("  s[local_id.x] = x\n  barrier\n  x = x + s[local_id.x ^ ", k % 64,
                      "]\n  barrier\n");
        });
      },
      shared);
  add(
      "barrier.live_locals", "u32",
      [](int n) {
        return repeat(n,
                      [](int k) {
                        return line("  let v", k, " = a[i + ", k, "]\n  s[local_id.x] = v", k,
                                    "\n  barrier\n  x = x * s[", k % 64, "]\n  barrier\n");
                      }) +
               repeat(n, [](int k) { return line("  x = x ^ v", k, "\n"); });
      },
      shared);
  add(
      "barrier.loops", "u32",
      [](int n) {
        return repeat(n, [](int k) {
          return line("  for k in 0..9 { s[local_id.x] = x\n  barrier\n  x = x + s[k + ", k % 50,
                      "]\n  barrier }\n");
        });
      },
      shared);
  add(
      "barrier.wide_workgroup", "u128",
      [](int n) {
        return repeat(n, [](int k) {
          return line("  s[local_id.x] = x\n  barrier\n  x = x * s[local_id.x - ", k, "] + a[i + ",
                      k, "]\n  barrier\n");
        });
      },
      "  workgroup s: u128[1024]\n", 1024);
  add(
      "barrier.stages", "u32",
      [](int n) {
        return repeat(n, [](int k) {
          return line("  if local_id.x < ", k % 64 + 1, " { s[local_id.x] = x + s[local_id.x + ",
                      k % 64, "] }\n  barrier\n");
        });
      },
      shared);
}

// --- Locals, expressions, calls, files
// ------------------------------------------------------------

void add_values(std::vector<GrowthFamily>& all) {
  const auto add = [&](std::string name, std::string type, auto body) {
    all.push_back({std::move(name), [=](int n) { return program(type, body(n)); }});
  };
  const auto live = [](int n, std::string_view index) {
    return repeat(n, [&](int k) { return line("  let v", k, " = a[", index, k, "]\n"); }) +
           "  for k in 0..u32(y) {\n  x = x * y\n  }\n" +
           repeat(n, [](int k) { return line("  x = x ^ v", k, "\n"); });
  };
  add("local.live", "u32", [=](int n) { return live(n, "i + "); });
  add("local.live_wide", "u128", [=](int n) { return live(n, "i * 7 + "); });
  add("local.chain", "vec4u32", [](int n) {
    return repeat(n,
                  [](int k) {
                    const std::string before = k == 0 ? "x" : line("v", k - 1);
                    return line("  let v", k, " = mul_high(", before, ", ", before, ")\n");
                  }) +
           line("  x = v", n - 1, "\n");
  });
  add("local.independent", "u32", [](int n) {
    return repeat(n, [](int k) {
      return line("  let v", k, " = x * ", k + 3, " ^ y\n  out[i * 9 + ", k, "] = v", k, "\n");
    });
  });
  add("local.unused", "u32", [](int n) {
    return repeat(n, [](int k) { return line("  let v", k, " = x * ", k, " + a[y]\n"); });
  });
  add("local.swaps", "u32", [](int n) {
    return repeat(
        n, [](int k) { return line("  let t", k, " = x\n  x = y + ", k, "\n  y = t", k, "\n"); });
  });
  // About as deep as expressions may be, again and again.
  add("expression.left", "u32", [](int n) {
    std::string out;
    for (int k = 0; k < n; ++k) {
      if (k % 1000 == 0) out += "\n  x = x";
      out += line(k % 2 == 0 ? " * " : " - ", k + 1);
    }
    return out + "\n";
  });
  add("expression.right", "u32", [](int n) {
    std::string out;
    for (int done = 0; done < n; done += 1000) {
      const int levels = std::min(n - done, 1000);
      out += "  x = ";
      for (int k = 0; k < levels; ++k) out += line("(y ^ ", done + k, ") * (");
      out += "x" + std::string(static_cast<std::size_t>(levels), ')') + "\n";
    }
    return out;
  });
  add("expression.balanced", "u32", [](int n) {
    const std::function<std::string(int, int)> tree = [&](int from, int to) {
      if (to - from == 1) return line("(x >> ", from % 32, ")");
      const int middle = (from + to) / 2;
      return line("(", tree(from, middle), from % 2 == 0 ? " + " : " ^ ", tree(middle, to), ")");
    };
    return line("  x = ", tree(0, n), "\n");
  });
  add("expression.shared", "u32", [](int n) {
    return repeat(n, [](int k) {
      return line("  out[i * 3 + ", k, "] = (x * y + a[i + 7]) ^ (x * y + ", k, ")\n");
    });
  });
  add("expression.sum_of_loads", "u32", [](int n) {
    std::string out = "  x = 0";
    for (int k = 0; k < n; ++k) out += line(k % 1000 == 999 ? "\n  x = x + a[" : " + a[", k, "]");
    return out + "\n";
  });
  add("literal.sum", "u32", [](int n) {
    return repeat(n, [](int k) { return line("  x = x + ", k * 977, " * ", k + 1, "\n"); });
  });
  add("literal.wide", "u128", [](int n) {
    return repeat(
        n, [](int k) { return line("  x = x ^ 0x", k + 1, "00000000000000000000000ffu128\n"); });
  });
  add("select.chain", "u32", [](int n) {
    return repeat(n, [](int k) { return line("  x = select(y == ", k, ", ", 7 * k, ", x)\n"); });
  });
  add("select.nested", "u32", [](int n) {
    std::string out;
    for (int done = 0; done < n; done += 1000) {
      const int levels = std::min(n - done, 1000);
      out += "  x = ";
      for (int k = 0; k < levels; ++k) out += line("select(y == ", done + k, ", ", 7 * k, ", ");
      out += "x" + std::string(static_cast<std::size_t>(levels), ')') + "\n";
    }
    return out;
  });
  add("logic.u32", "u32", [](int n) {
    return repeat(n, [](int k) {
      return line("  x = (x > ", k, k % 2 == 0 ? " && " : " || ", "!(y < ", k, ")) + x\n");
    });
  });
  add("logic.bool", "bool", [](int n) {
    return repeat(n, [](int k) {
      static constexpr std::string_view kOps[] = {"^", "&", "|", "!="};
      return line("  x = bool(x ", kOps[k % 4], " a[i + ", k, "])\n");
    });
  });
  add("lane.swaps", "vec4u32", [](int n) {
    return repeat(n, [](int k) { return line("  x = vec4u32(x.y + ", k, ", x.z, y.w, x.x)\n"); });
  });
  add("lane.sum", "vec2u32", [](int n) {
    return repeat(n, [](int k) { return line("  x = vec2u32(x.y * x.x, y.x + ", k, ")\n"); });
  });

  const std::string mix =
      "op t.mix(a: u32, b: u32) -> u32 {\n  let m = a * 31 ^ b\n  m = m ^ m >> 7\n  return m\n}\n";
  add("call.simple", "u32", [](int n) {
    return repeat(n, [](int k) {
      return line("  x = primitive.bitwise.xor(x, primitive.math.max(y, ", k, "))\n");
    });
  });
  const auto add_calls = [&](std::string name, std::string ops, auto body) {
    all.push_back({std::move(name), [=](int n) { return program("u32", body(n)) + ops; }});
  };
  add_calls("call.statements", mix, [](int n) {
    return repeat(n, [](int k) { return line("  x = t.mix(x, y + ", k, ")\n"); });
  });
  add_calls("call.arguments", mix, [](int n) {
    std::string out;
    for (int done = 0; done < n; done += 20) {
      const int levels = std::min(n - done, 20);
      out += "  x = ";
      for (int k = 0; k < levels; ++k) out += line("t.mix(y + ", done + k, ", ");
      out += "x" + std::string(static_cast<std::size_t>(levels), ')') + "\n";
    }
    return out;
  });
  add_calls("call.early_returns",
            "op t.find(a: u32, b: u32) -> u32 {\n  for k in 0..b {\n    if a * k > 99 {\n"
            "      return k\n    }\n  }\n  if a > b {\n    return 7\n  }\n  return a\n}\n",
            [](int n) {
              return repeat(n, [](int k) { return line("  x = t.find(x, y & ", k, ")\n"); });
            });
  all.push_back({"call.many_returns", [](int n) {
                   return program("u32", "  x = t.find(x, y)\n") +
                          "op t.find(a: u32, b: u32) -> u32 {\n" +
                          repeat(n,
                                 [](int k) {
                                   return line("  if a == ", k, " { return b + ", 3 * k, " }\n");
                                 }) +
                          "  return a\n}\n";
                 }});
  all.push_back({"call.else_if", [](int n) {
                   return program("u32", "  x = t.find(x, y)\n") +
                          "op t.find(a: u32, b: u32) -> u32 {\n  " +
                          repeat(n,
                                 [](int k) {
                                   return line("if a == ", k, " { return b + ", 3 * k, " } else ");
                                 }) +
                          "{ return a }\n}\n";
                 }});
  std::string levels = "op t.l0(a: u32) -> u32 {\n  let m = a * 3\n  return m ^ 1\n}\n";
  for (int k = 1; k < 31; ++k) {
    levels += line("op t.l", k, "(a: u32) -> u32 {\n  let m = a + ", k, "\n  return t.l", k - 1,
                   "(m)\n}\n");
  }
  add_calls("call.deep", levels, [](int n) {
    return repeat(n, [](int k) { return line("  x = t.l30(x + ", k, ")\n"); });
  });
  all.push_back(
      {"call.many_ops", [](int n) {
         return program("u32", repeat(n, [](int k) { return line("  x = t.o", k, "(x, y)\n"); })) +
                repeat(n, [](int k) {
                  return line("op t.o", k, "(a: u32, b: u32) -> u32 {\n  let m = a * ", k,
                              "\n  return m ^ b\n}\n");
                });
       }});
  all.push_back(
      {"call.parameters", [](int n) {
         return program("u32",
                        "  x = t.many(" +
                            repeat(n, [](int k) { return line(k == 0 ? "" : ", ", "x + ", k); }) +
                            ")\n") +
                "op t.many(" +
                repeat(n, [](int k) { return line(k == 0 ? "" : ", ", "p", k, ": u32"); }) +
                ") -> u32 {\n  let m = 0\n" +
                repeat(n, [](int k) { return line("  m = m * 3 ^ p", k, "\n"); }) +
                "  return m\n}\n";
       }});

  all.push_back({"file.programs", [](int n) {
                   return repeat(n, [](int k) {
                     return line("program p", k, " workgroup(64) {\n  read_write out: u32[]\n",
                                 "  out[invocation_id.x] = out[invocation_id.x] * ", k + 3,
                                 "\n}\n");
                   });
                 }});
  all.push_back({"file.ops", [](int n) {
                   return program("u32", "") + repeat(n, [](int k) {
                            return line("op t.o", k, "(a: u32) -> u32 {\n  \"number ", k,
                                        "\"\n  return a * ", k, "\n}\n");
                          });
                 }});
  add("file.comments", "u32", [](int n) {
    return repeat(n, [](int k) { return line("  // the number ", k, " is one of many\n"); });
  });
  add("file.long_names", "u32", [](int n) {
    const std::string name(200, 'n');
    return repeat(
        n, [&](int k) { return line("  let ", name, k, " = x\n  x = y + ", name, k, "\n"); });
  });
  all.push_back({"file.one_name", [](int n) {
                   const std::string name(static_cast<std::size_t>(n), 'n');
                   return program("u32", line("  let ", name, " = x * y\n  x = ", name, "\n"));
                 }});
  add("error.types", "u32",
      [](int n) { return repeat(n, [](int k) { return line("  x = y + ", k, "u64\n"); }); });
  add("error.names", "u32", [](int n) {
    return repeat(n, [](int k) { return line("  let some_name_", k, " = other_", k, "\n"); });
  });
  add("error.syntax", "u32",
      [](int n) { return repeat(n, [](int k) { return line("  x = = ", k, "\n"); }); });
}

}  // namespace

std::vector<GrowthFamily> growth_families() {
  std::vector<GrowthFamily> all;
  add_flow(all);
  add_memory(all);
  add_values(all);
  for (const ValueType& type : value_types()) add_groups(all, type);
  return all;
}

std::vector<GrowthFamily> operation_families() {
  std::vector<GrowthFamily> all;
  for (const vyre::OperationInfo& op : vyre::all_operations()) {
    for (const ValueType& type : value_types()) {
      if (!vyre::contains(op.types, type.type)) continue;
      all.push_back(straight(line(op.name, ".", type.name), type.name, [&op, type](int k) {
        const std::string x = line("(x ^ ", constant(type, k), ")");
        const std::string second = op.signature == vyre::Signature::Shift ? count(type, x) : x;
        std::string value = op.arity == 1        ? line(op.text, "(", x, ")")
                            : op.precedence == 0 ? line(op.text, "(y, ", second, ")")
                                                 : line("y ", op.text, " ", second);
        if (op.signature == vyre::Signature::Test) value = line("y ^ ", from_test(type, value));
        return line("  x = ", value, "\n");
      }));
    }
  }
  return all;
}

// Where a statement breaks that does not fit on one line.
//
// A bracket and what is in it are a group; so are operands with operators of one precedence between
// them. A group that does not fit on its line is broken, the outer one first:
//
//   let sum = first.of.two(        a bracket: each part on a line of its own, the closing bracket
//     a,                           on another
//     b
//   ) + c                          an operator stays after one, if it fits,
//   let wide = one
//       + two * three              else it starts a line
//
// Lists and groups of short parts fill lines instead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vyre {

inline constexpr std::uint32_t kLineWidth = 100;

// A token of the statement.
struct LinePart {
  enum class Kind : std::uint8_t { Plain, Open, OpenList, Close, Comma, Infix };

  std::uint32_t width;
  Kind kind;
  std::uint8_t precedence;  // of an infix operator
  bool spaced;              // from the piece before, on the same line
  bool commented;           // after a comment, so that it starts a line
  bool starts_line;         // as it was written
};

// What comes before a piece.
struct Gap {
  bool breaks = false;
  bool keeps_blank = false;  // it is where the author broke the line
  std::uint8_t indent = 0;   // of the line that the piece starts
  std::uint8_t comment_indent = 0;
};

class Wrapper {
 public:
  // A gap for each piece, or none at all if they fit; until the next call. No recursion, and linear
  // in the pieces.
  std::span<const Gap> wrap(std::span<const LinePart> pieces, std::uint32_t indent);

 private:
  struct Slot {
    std::uint32_t column = 0;  // of the piece if all were on one line
    std::uint32_t breaks = 0;  // that cannot be avoided, up to this one
    std::uint32_t stop = 0;    // the column where the text from here can break, or where it ends
    std::uint32_t next = 0;    // the break after this one in the same group, or the group's end
    std::uint32_t outer = 0;   // 1 + the outermost group that begins here
    bool may_break = false;
  };
  struct Group {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t inner;  // 1 + the next group that begins at the same piece
    bool is_chain;
    bool fills;
  };
  // A group whose end is not known yet.
  struct Open {
    std::uint32_t group;
    int precedence;         // of a chain; kBracket
    std::uint32_t last;     // break; 0 when there is none
    std::uint32_t operand;  // of a bracket: the operand that it is a part of
    std::uint32_t widest;   // of its parts
    bool is_single;         // a bracket around one operand
  };
  // A group around the current piece.
  struct Around {
    const Group* group;
    bool is_broken;
    bool keeps_rows;
    std::uint32_t outside;  // indentation
    std::uint32_t inside;
    std::uint32_t line;  // where the current part begins
  };

  struct Line {
    std::uint32_t number;
    std::uint32_t indent;
    std::uint32_t column;      // after what is on it so far
    bool closes = false;       // it starts with a closing bracket
    bool only_closes = false;  // it has nothing else
  };

  bool must_break(std::size_t i) const;
  // Whether there is a break inside that cannot be avoided.
  bool is_split(std::uint32_t from, std::uint32_t to) const {
    return slots_[to - 1].breaks != slots_[from].breaks;
  }
  void measure();
  void find_groups();
  void begin_group(std::uint32_t begin, int precedence);
  void end_group(std::uint32_t end);
  std::uint32_t end_chains(int precedence, std::uint32_t end);
  void add_break(std::uint32_t i);
  void end_part(std::uint32_t end);
  void find_stops();
  void place();
  void enter(const Group& group, const Line& line);
  bool rows_fit(const Around& list) const;
  bool breaks_at(std::uint32_t i, const Line& line) const;

  std::span<const LinePart> pieces_;
  std::uint32_t indent_ = 0;
  std::vector<Slot> slots_;  // one more than there are pieces
  std::vector<Group> groups_;
  std::vector<Open> open_;
  std::uint32_t operand_ = 0;  // where the current one begins
  std::uint32_t closed_ = 0;   // the last bracket that was closed, or the innermost dense one in it
  std::vector<Around> around_;
  std::vector<Gap> gaps_;
};

}  // namespace vyre

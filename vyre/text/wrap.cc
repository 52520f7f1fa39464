#include "vyre/text/wrap.h"

#include <algorithm>

namespace vyre {
namespace {

constexpr int kBracket = -1;          // binds less tightly than all operators
constexpr std::uint32_t kShort = 16;  // parts up to this width fill lines
constexpr std::uint32_t kDeepest =
    40;  // columns from the statement's; deeper ones are not indented

}  // namespace

std::span<const Gap> Wrapper::wrap(std::span<const LinePart> pieces, std::uint32_t indent) {
  pieces_ = pieces;
  indent_ = indent;
  measure();
  const Slot& end = slots_.back();
  if (end.breaks == 0 && indent + end.column <= kLineWidth) return {};
  find_groups();
  find_stops();
  place();
  return gaps_;
}

// After a comment, and after the bracket of a list that the author wrote in rows.
bool Wrapper::must_break(std::size_t i) const {
  const bool in_rows = i > 0 && pieces_[i - 1].kind == LinePart::Kind::OpenList;
  return pieces_[i].commented || (in_rows && pieces_[i].starts_line);
}

void Wrapper::measure() {
  slots_.assign(pieces_.size() + 1, {});
  std::uint32_t column = 0;
  std::uint32_t breaks = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (i > 0 && pieces_[i].spaced) ++column;
    if (i > 0 && must_break(i)) ++breaks;
    slots_[i].column = column;
    slots_[i].breaks = breaks;
    column += pieces_[i].width;
  }
  slots_.back().column = column;
  slots_.back().breaks = breaks;
}

// --- Groups --------------------------------------------------------------------------------------

void Wrapper::find_groups() {
  groups_.clear();
  operand_ = 0;
  const auto count = static_cast<std::uint32_t>(pieces_.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    switch (pieces_[i].kind) {
      case LinePart::Kind::Plain: break;
      case LinePart::Kind::Open:
      case LinePart::Kind::OpenList:
        begin_group(i, kBracket);
        operand_ = i + 1;
        if (pieces_[i + 1].kind != LinePart::Kind::Close) add_break(i + 1);
        break;
      case LinePart::Kind::Comma:
        end_chains(kBracket, i);
        open_.back().is_single = false;
        operand_ = i + 1;
        add_break(i + 1);
        break;
      case LinePart::Kind::Close: {
        end_chains(kBracket, i);
        const Open bracket = open_.back();
        const std::uint32_t first = groups_[bracket.group].begin + 1;
        operand_ = bracket.operand;
        if (first < i) add_break(i);
        // Around a single token, or a short name and its bracket, a break would gain little.
        const bool is_call = pieces_[i - 1].kind == LinePart::Kind::Close &&
                             slots_[closed_].column - slots_[first].column <= kShort;
        const bool is_dense = bracket.is_single && (first + 1 == i || is_call) &&
                              !must_break(first) && !must_break(i);
        if (is_dense) slots_[first].may_break = slots_[i].may_break = false;
        if (!is_dense || !is_call) closed_ = first - 1;
        end_group(i + 1);
        break;
      }
      case LinePart::Kind::Infix: {
        const int precedence = pieces_[i].precedence;
        const std::uint32_t first = end_chains(precedence, i);
        if (open_.empty() || open_.back().precedence < precedence) begin_group(first, precedence);
        // An operator before a comment ends its line.
        const bool ends_line = i + 1 < count && pieces_[i + 1].commented && !pieces_[i].commented;
        add_break(ends_line ? i + 1 : i);
        operand_ = i + 1;
        break;
      }
    }
  }
  end_chains(kBracket, count);
}

void Wrapper::begin_group(std::uint32_t begin, int precedence) {
  const bool is_chain = precedence != kBracket;
  if (is_chain && !open_.empty()) open_.back().is_single = false;
  open_.push_back({static_cast<std::uint32_t>(groups_.size()), precedence, 0, operand_, 0, true});
  const bool is_list = !is_chain && pieces_[begin].kind == LinePart::Kind::OpenList;
  groups_.push_back({begin, 0, slots_[begin].outer, is_chain, is_list});
  slots_[begin].outer = static_cast<std::uint32_t>(groups_.size());
}

void Wrapper::end_group(std::uint32_t end) {
  end_part(end);
  groups_[open_.back().group].end = end;
  groups_[open_.back().group].fills |= open_.back().widest <= kShort;
  open_.pop_back();
}

// Ends the chains of the innermost bracket that bind more tightly than `precedence`; the operand
// that they are begins at what this returns.
std::uint32_t Wrapper::end_chains(int precedence, std::uint32_t end) {
  std::uint32_t first = operand_;
  while (!open_.empty() && open_.back().precedence > precedence) {
    first = groups_[open_.back().group].begin;
    end_group(end);
  }
  return first;
}

void Wrapper::add_break(std::uint32_t i) {
  end_part(i);
  slots_[i].may_break = true;
  open_.back().last = i;
}

void Wrapper::end_part(std::uint32_t end) {
  Open& open = open_.back();
  if (open.last == 0 || open.last == end) return;
  const std::uint32_t width =
      slots_[end - 1].column + pieces_[end - 1].width - slots_[open.last].column;
  open.widest = std::max(open.widest, width);
  slots_[open.last].next = end;
}

void Wrapper::find_stops() {
  for (std::size_t i = slots_.size(); i-- > 0;) {
    const bool ends = i + 1 == slots_.size();
    if (i > 0 && (ends || slots_[i].may_break || must_break(i))) {
      slots_[i].stop = slots_[i - 1].column + pieces_[i - 1].width;
    } else {
      slots_[i].stop = slots_[i + 1].stop;
    }
  }
}

// --- Lines ---------------------------------------------------------------------------------------

void Wrapper::place() {
  gaps_.assign(pieces_.size(), {});
  around_.clear();
  Line line{0, indent_, indent_};
  for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
    while (!around_.empty() && around_.back().group->end <= i) around_.pop_back();
    const bool closes = pieces_[i].kind == LinePart::Kind::Close;
    if (i > 0 && (must_break(i) || breaks_at(i, line))) {
      const std::uint32_t inside = around_.empty() ? indent_ + 4 : around_.back().inside;
      const std::uint32_t indent = closes ? around_.back().outside : inside;
      line = {line.number + 1, indent, indent, closes, true};
      const bool keeps_rows = !around_.empty() && around_.back().keeps_rows;
      gaps_[i] = {true, pieces_[i].commented || keeps_rows, static_cast<std::uint8_t>(indent),
                  static_cast<std::uint8_t>(inside)};
    } else if (i > 0 && pieces_[i].spaced) {
      ++line.column;
    }
    if (slots_[i].may_break) around_.back().line = line.number;
    for (std::uint32_t group = slots_[i].outer; group != 0; group = groups_[group - 1].inner) {
      enter(groups_[group - 1], line);
    }
    line.column += pieces_[i].width;
    line.only_closes &= closes;
  }
}

void Wrapper::enter(const Group& group, const Line& line) {
  const bool outer_fits = !around_.empty() && !around_.back().is_broken;
  const std::uint32_t width = slots_[group.end].stop - slots_[group.begin].column;
  const bool is_broken =
      !outer_fits && (is_split(group.begin, group.end) || line.column + width > kLineWidth);
  // The operands of a chain may be chains.
  const bool in_chain = !around_.empty() && around_.back().group->is_chain;
  const std::uint32_t outside = group.is_chain && in_chain ? around_.back().inside : line.indent;
  const std::uint32_t inside = std::min(outside + (group.is_chain ? 4 : 2), indent_ + kDeepest);
  around_.push_back({&group, is_broken, false, outside, inside, line.number});
  around_.back().keeps_rows = is_broken && must_break(group.begin + 1) && rows_fit(around_.back());
}

// Whether the author's rows of a list have space, in which case they stay.
bool Wrapper::rows_fit(const Around& list) const {
  const bool is_list = pieces_[list.group->begin].kind == LinePart::Kind::OpenList;
  if (list.group->is_chain || !is_list) return false;
  std::uint32_t row = list.group->begin + 1;
  for (std::uint32_t i = slots_[row].next;; i = slots_[i].next) {
    const bool is_last = pieces_[i].kind == LinePart::Kind::Close;
    if (!is_last && !pieces_[i].starts_line) continue;
    const std::uint32_t width = slots_[i].stop - slots_[row].column;
    if (is_split(row, i) || list.inside + width > kLineWidth) return false;
    if (is_last) return true;
    row = i;
  }
}

// Whether the group around the piece breaks before it.
bool Wrapper::breaks_at(std::uint32_t i, const Line& line) const {
  if (!slots_[i].may_break || !around_.back().is_broken) return false;
  const Around& around = around_.back();
  const Group& group = *around.group;
  const bool is_edge = i == group.begin + 1 || pieces_[i].kind == LinePart::Kind::Close;
  if (!group.is_chain && is_edge) return true;
  if (group.is_chain && line.only_closes) return false;
  if (around.keeps_rows) return pieces_[i].starts_line;
  const std::uint32_t next = slots_[i].next;
  const std::uint32_t width = slots_[next].stop - slots_[i].column;
  const bool fits = !is_split(i, next) && line.column + pieces_[i].spaced + width <= kLineWidth;
  const bool fills = (group.is_chain && line.closes) || (group.fills && around.line == line.number);
  return !fits || !fills;
}

}  // namespace vyre

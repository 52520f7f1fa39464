"""Answers for text.*: Python's strings and bytes, and its codecs, base64 and binascii modules."""

import base64
import binascii
import codecs
import random
import string
import struct

from reference import known, mask, op

M32 = mask(32)
NONE = M32
CHARACTERS = [(c,) for c in range(0x180)] + [(0x10000 + c,) for c in (0x30, 0x41, 0x61, 0x20)]
SOURCE = random.Random("text")
CORNERS = b"\0\1\t\n /09:@AFGZ[_`afgz{\x7f\x80\xa0\xbf\xc1\xe1\xfa\xff"
WORDS = [(int.from_bytes(SOURCE.choices(CORNERS, k=4), "little"),) for _ in range(300)]
WORDS += [(int.from_bytes(bytes([c, c ^ 1, 0x80 | c, c]), "little"),) for c in range(128)]


def four(word):
    return word.to_bytes(4, "little")


def packed(data):
    """The number whose bytes, the first one lowest, are those of a string."""
    return int.from_bytes(data, "little")


def ascii(c):
    """c as a string, empty where it is not ASCII."""
    return chr(c) if c < 128 else ""


# Classes and case.

CLASSES = {
    "digit": string.digits,
    "upper": string.ascii_uppercase,
    "lower": string.ascii_lowercase,
    "alpha": string.ascii_letters,
    "alnum": string.ascii_letters + string.digits,
    "word": string.ascii_letters + string.digits + "_",
    "space": string.whitespace,
    "blank": " \t",
    "punct": string.punctuation,
    "graph": string.digits + string.ascii_letters + string.punctuation,
    "print": string.digits + string.ascii_letters + string.punctuation + " ",
    "control": [chr(c) for c in range(128) if not chr(c).isprintable()],
    "hex": string.hexdigits,
    "ascii": [chr(c) for c in range(128)],
}
for name, members in CLASSES.items():
    op("text.is_" + name, "u32 -> u32", inputs=CHARACTERS)(lambda c, m=frozenset(members): ascii(c) in m)


@op("text.to_lower", "u32 -> u32", inputs=CHARACTERS)
def to_lower(c):
    return ord(chr(c).lower()) if c < 128 else c


@op("text.to_upper", "u32 -> u32", inputs=CHARACTERS)
def to_upper(c):
    return ord(chr(c).upper()) if c < 128 else c


@op("text.swap_case", "u32 -> u32", inputs=CHARACTERS)
def swap_case(c):
    return ord(chr(c).swapcase()) if c < 128 else c


@op("text.rot13", "u32 -> u32", inputs=CHARACTERS)
def rot13(c):
    return ord(codecs.encode(chr(c), "rot13")) if c < 128 else c


PAIRS = [(a, b) for a in range(0x20, 0x90, 3) for b in (a, a ^ 0x20, a + 1)]


@op("text.equal_fold", "u32 u32 -> u32", inputs=PAIRS)
def equal_fold(a, b):
    return to_lower(a) == to_lower(b)


def by_unicode(change):
    """What Python's strings do with a Latin-1 character, where that is one character."""

    def function(c):
        changed = change(chr(c)) if c < 256 else ""
        return ord(changed) if len(changed) == 1 else c

    return function


for name, change in (("to_lower", str.lower), ("to_upper", str.upper), ("fold", str.casefold)):
    op("text.%s_latin1" % name, "u32 -> u32", inputs=CHARACTERS)(by_unicode(change))


# Four bytes at once.


def flags(data):
    """0x80 in the bytes where a list of truth values says so."""
    return packed(bytes(0x80 if flag else 0 for flag in data))


@op("text.splat4", "u32 -> u32")
def splat4(byte):
    return packed(bytes([byte % 256]) * 4)


@op("text.byte4", "u32 u32 -> u32")
def byte4(word, i):
    return four(word)[i % 4]


@op("text.reverse4", "u32 -> u32")
def reverse4(word):
    return struct.unpack(">I", struct.pack("<I", word))[0]


@op("text.zero_mask4", "u32 -> u32", inputs=WORDS)
def zero_mask4(word):
    return flags(byte == 0 for byte in four(word))


WITH_BYTE = [(word, byte) for (word,) in WORDS for byte in SOURCE.choices(four(word), k=2)]
WITH_BYTE += [(0x64636261, 0x162), (0x61616161, 0x61)]


@op("text.match_mask4", "u32 u32 -> u32", inputs=WITH_BYTE)
def match_mask4(word, byte):
    return flags(each == byte % 256 for each in four(word))


@op("text.has_zero_byte", "u32 -> u32", inputs=WORDS)
def has_zero_byte(word):
    return 0 in four(word)


@op("text.find_byte", "u32 u32 -> u32", inputs=WITH_BYTE)
def find_byte(word, byte):
    at = four(word).find(byte % 256)
    return at if at >= 0 else 4


@op("text.count_byte", "u32 u32 -> u32", inputs=WITH_BYTE)
def count_byte(word, byte):
    return four(word).count(byte % 256)


@op("text.length4", "u32 -> u32", inputs=WORDS)
def length4(word):
    return len(four(word).split(b"\0")[0])


@op("text.is_ascii4", "u32 -> u32", inputs=WORDS)
def is_ascii4(word):
    return four(word).isascii()


DIGITS = [(packed(b"%04d" % n),) for n in range(0, 10000, 37)]
FLIPS = [flip << 8 * i for flip in (8, 10, 15, 16, 64, 128) for i in range(4)]
BROKEN = [(word ^ flip,) for (word,) in DIGITS[::9] for flip in FLIPS]


@op("text.is_digit4", "u32 -> u32", inputs=WORDS + DIGITS + BROKEN)
def is_digit4(word):
    return four(word).isdigit()


BETWEEN = [(0x41, 0x5A), (0, 0x7F), (0x30, 0x30), (0x7F, 0x7F), (0x5A, 0x41), (0x80, 0xFF), (0x41, 0x100)]


@op("text.range_mask4", "u32 u32 u32 -> u32", inputs=[(*w, a, b) for w in WORDS[::2] for a, b in BETWEEN])
def range_mask4(word, first, last):
    return flags(first <= byte <= last and byte < 128 for byte in four(word))


@op("text.to_lower4", "u32 -> u32", inputs=WORDS)
def to_lower4(word):
    return packed(four(word).lower())


@op("text.to_upper4", "u32 -> u32", inputs=WORDS)
def to_upper4(word):
    return packed(four(word).upper())


SAME = [(word, packed(bytes(four(word).swapcase()))) for (word,) in WORDS]
SAME += [(word, word ^ 0x20 << 8 * (i % 4)) for i, (word,) in enumerate(WORDS)]


@op("text.equal_fold4", "u32 u32 -> u32", inputs=SAME)
def equal_fold4(a, b):
    return four(a).lower() == four(b).lower()


# Hexadecimal.


@op("text.digit_value", "u32 -> u32", inputs=CHARACTERS)
def digit_value(c):
    return int(chr(c), 16) if ascii(c) in frozenset(string.hexdigits) else NONE


@op("text.hex_digit", "u32 -> u32", inputs=[(n,) for n in range(40)])
def hex_digit(n):
    return ord("%x" % (n % 16))


@op("text.hex_encode", "u32 -> u32", inputs=[(n,) for n in range(256)])
def hex_encode(byte):
    return packed(binascii.hexlify(bytes([byte % 256])))


@op("text.hex_decode", "u32 -> u32", inputs=[(packed(b"%02x" % n),) for n in range(256)] + WORDS)
def hex_decode(chars):
    try:
        return binascii.unhexlify(four(chars)[:2])[0]
    except binascii.Error:
        return NONE


@op("text.hex_encode_word", "u32 -> u64")
def hex_encode_word(x):
    return packed(b"%08x" % x)


# Decimal.

TENS = [(10**i + d,) for i in range(20) for d in (-1, 0, 1) if 10**i + d < 2**64]


@op("text.decimal_length", "u32 -> u32", inputs=[x for x in TENS if x[0] <= M32])
def decimal_length(x):
    return len(str(x))


@op("text.decimal_length_u64", "u64 -> u32", inputs=TENS)
def decimal_length_u64(x):
    return len(str(x))


@op("text.decimal_digit", "u32 u32 -> u32", inputs=[(x, i) for x in (1234567890, M32, 7) for i in range(14)])
def decimal_digit(x, i):
    digits = str(x)[::-1]
    return int(digits[i]) if i < len(digits) else 0


@op("text.parse_decimal4", "u32 -> u32", inputs=WORDS + DIGITS + BROKEN)
def parse_decimal4(chars):
    return int(four(chars)) if four(chars).isdigit() else NONE


@op("text.parse_decimal", "u32 u32 -> u32", inputs=[(*w, n) for w in DIGITS + BROKEN for n in range(6)])
def parse_decimal(chars, count):
    digits = four(chars)[:count]
    return int(digits) if digits.isdigit() else NONE if digits else 0


EIGHTS = [(packed(b"%08d" % n),) for n in (0, 1, 12345678, 99999999, 10000, 9999, 90817263)]
EIGHTS += [(word[0] ^ 0x40 << 8 * i,) for word in EIGHTS[:3] for i in range(8)]


@op("text.parse_decimal8", "u64 -> u32", inputs=EIGHTS)
def parse_decimal8(chars):
    data = chars.to_bytes(8, "little")
    return int(data) if data.isdigit() else NONE


@op("text.format_decimal4", "u32 -> u32", inputs=[(n,) for n in range(0, 10001, 73)])
def format_decimal4(n):
    return packed(b"%04d" % (n % 10**4))


@op("text.format_decimal8", "u32 -> u64", inputs=TENS[:24] + [(12345678,)])
def format_decimal8(n):
    return packed(b"%08d" % (n % 10**8))


# Base64 and base32.

ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits
for name, alphabet, encode, decode in [
    ("base64", ALPHABET + "+/", base64.standard_b64encode, base64.standard_b64decode),
    ("base64url", ALPHABET + "-_", base64.urlsafe_b64encode, base64.urlsafe_b64decode),
]:
    counting = int("".join(format(n, "06b") for n in range(64)), 2).to_bytes(48, "big")
    assert encode(counting).decode() == alphabet

    def encode4(data, encode=encode):
        return packed(encode(four(data)[:3]))

    def decode4(chars, decode=decode, alphabet=frozenset(alphabet.encode())):
        return packed(decode(four(chars))) if alphabet.issuperset(four(chars)) else NONE

    digits = [(n,) for n in range(130)]
    op("text.%s_char" % name, "u32 -> u32", inputs=digits)(lambda n, a=alphabet: ord(a[n % 64]))
    values = {ord(c): n for n, c in enumerate(alphabet)}
    op("text.%s_value" % name, "u32 -> u32", inputs=CHARACTERS)(lambda c, v=values: v.get(c, NONE))
    op("text.%s_encode" % name, "u32 -> u32", inputs=WORDS)(encode4)
    valid = [(packed(SOURCE.choices(alphabet.encode(), k=4)),) for _ in range(200)]
    signs = [(packed(SOURCE.choices(b"+/-_=AZ09", k=4)),) for _ in range(100)]
    op("text.%s_decode" % name, "u32 -> u32", inputs=valid + signs + WORDS)(decode4)


@op("text.base64_encode_end", "u32 u32 -> u32", inputs=[(*w, n) for w in WORDS[::4] for n in range(5)])
def base64_encode_end(data, count):
    return packed(base64.b64encode(four(data)[: min(count, 3)]))


for message, value in [(b"f", b"Zg=="), (b"fo", b"Zm8="), (b"foo", b"Zm9v")]:
    arguments = (packed(message), len(message))
    known("text.base64_encode_end", "u32 u32 -> u32", arguments, packed(value), "RFC 4648, 10")
known("text.base64_encode", "u32 -> u32", (packed(b"foo"),), packed(b"Zm9v"), "RFC 4648, 10")
known("text.base64_decode", "u32 -> u32", (packed(b"YmFy"),), packed(b"bar"), "RFC 4648, 10")


@op("text.base32_char", "u32 -> u32", inputs=[(n,) for n in range(70)])
def base32_char(n):
    return base64.b32encode(bytes([n % 32 * 8]))[0]


@op("text.base32_value", "u32 -> u32", inputs=CHARACTERS)
def base32_value(c):
    if ascii(c) not in frozenset(string.ascii_letters + "234567"):
        return NONE
    return base64.b32decode(chr(c) + "A======", casefold=True)[0] >> 3


# Unicode.

CODES = [0, 0x24, 0x7F, 0x80, 0xA2, 0xFF, 0x7FF, 0x800, 0x20AC, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF]
CODES += [0xE000, 0xFEFF, 0xFFFF, 0x10000, 0x10348, 0x1F600, 0xFFFFF, 0x100000, 0x10FFFF, 0x110000, 0x1FFFFF]
CODES = [(c,) for c in CODES] + [(SOURCE.randrange(0x110000),) for _ in range(300)]
CODES += [(SOURCE.randrange(0x1000),) for _ in range(100)]
UNITS = [(c,) for c in (0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0x1D800)]


def encoded(code, codec):
    """The bytes of a code point; none for what is no scalar value."""
    try:
        return chr(code).encode(codec)
    except (ValueError, OverflowError):
        return b""


def decoded(data, codec):
    """The code point at the start of some bytes, which may end with anything."""
    for size in range(1, 5):
        try:
            return ord(data[:size].decode(codec))
        except (UnicodeDecodeError, TypeError):
            pass
    return NONE


@op("text.is_scalar", "u32 -> u32", inputs=CODES)
def is_scalar(code):
    return len(encoded(code, "utf-8")) > 0


@op("text.is_continuation", "u32 -> u32", inputs=CHARACTERS)
def is_continuation(byte):
    return format(byte, "08b").startswith("10") and byte < 256


EXAMPLES = [encoded(c, "utf-8") for c in [*range(128), *range(128, 0x110000, 64)] if is_scalar(c)]
LENGTHS = {data[0]: len(data) for data in EXAMPLES}


@op("text.utf8_length", "u32 -> u32", inputs=CHARACTERS)
def utf8_length(lead):
    return LENGTHS.get(lead, 0)


@op("text.utf8_size", "u32 -> u32", inputs=CODES)
def utf8_size(code):
    return len(encoded(code, "utf-8"))


@op("text.utf8_encode", "u32 -> u32", inputs=CODES)
def utf8_encode(code):
    return packed(encoded(code, "utf-8"))


GOOD = [encoded(c, "utf-8") for (c,) in CODES if encoded(c, "utf-8")]
SEQUENCES = [(packed((data + bytes(SOURCE.choices(CORNERS, k=3)))[:4]),) for data in GOOD]
SEQUENCES += [(packed(data),) for data in GOOD]
SEQUENCES += [(packed(data) & mask(32) ^ 0x40 << 8 * SOURCE.randrange(4),) for data in GOOD]
for lead in list(range(0x80, 0x100)) * 8:
    SEQUENCES.append((packed([lead] + SOURCE.choices((0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF), k=3)),))


@op("text.utf8_decode", "u32 -> u32", inputs=SEQUENCES)
def utf8_decode(data):
    return decoded(four(data), "utf-8")


RFC3629 = "RFC 3629, 7 and 10"
known("text.utf8_decode", "u32 -> u32", (packed(b"\xe2\x89\xa2"),), 0x2262, RFC3629)
known("text.utf8_decode", "u32 -> u32", (packed(b"\xf0\xa3\x8e\xb4"),), 0x233B4, RFC3629)
known("text.utf8_decode", "u32 -> u32", (packed(b"\xc0\x80"),), NONE, RFC3629)
known("text.utf8_decode", "u32 -> u32", (packed(b"\xed\xa1\x8c\xed"),), NONE, RFC3629)


@op("text.utf8_count4", "u32 -> u32", inputs=SEQUENCES)
def utf8_count4(word):
    return sum(not is_continuation(byte) for byte in four(word))


@op("text.is_surrogate", "u32 -> u32", inputs=UNITS)
def is_surrogate(unit):
    return unit in range(0xD800, 0xE000)


@op("text.is_high_surrogate", "u32 -> u32", inputs=UNITS)
def is_high_surrogate(unit):
    return unit in range(0xD800, 0xDC00)


@op("text.is_low_surrogate", "u32 -> u32", inputs=UNITS)
def is_low_surrogate(unit):
    return unit in range(0xDC00, 0xE000)


@op("text.utf16_size", "u32 -> u32", inputs=CODES)
def utf16_size(code):
    return len(encoded(code, "utf-16-le")) // 2


@op("text.utf16_encode", "u32 -> u32", inputs=CODES)
def utf16_encode(code):
    return packed(encoded(code, "utf-16-le"))


HALVES = [0, 0x41, 0xD7FF, 0xD800, 0xD9AB, 0xDBFF, 0xDC00, 0xDEF1, 0xDFFF, 0xE000, 0xFFFF]
GOOD = [(packed(encoded(c, "utf-16-le")),) for (c,) in CODES]


@op("text.utf16_decode", "u32 -> u32", inputs=GOOD + [(a | b << 16,) for a in HALVES for b in HALVES])
def utf16_decode(units):
    return decoded(four(units), "utf-16-le")


known("text.utf16_encode", "u32 -> u32", (0x12345,), 0xDF45D808, "RFC 2781, 5")

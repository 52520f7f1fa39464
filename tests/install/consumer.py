"""consumer.py LIBRARY: c_only/main.c with ctypes, from the shared library alone."""

import ctypes
import sys

vyre = ctypes.CDLL(sys.argv[1])
vyre.vyre_diagnostics_text.restype = ctypes.c_char_p
vyre.vyre_module_program.restype = ctypes.c_void_p
vyre.vyre_outputs_backend.restype = ctypes.c_char_p
vyre.vyre_outputs_note.restype = ctypes.c_char_p


class HostBuffer(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("contents", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("result", ctypes.c_void_p),
    ]


def check(status, why):
    if status != 0:
        sys.exit(vyre.vyre_diagnostics_text(why).decode() or "a call is wrong")


text = sys.stdin.buffer.read()
module, outputs, why = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(
    vyre.vyre_load(
        text, ctypes.c_size_t(len(text)), b"stdin", ctypes.byref(module), ctypes.byref(why)
    ),
    why,
)
numbers = (ctypes.c_uint32 * 4)()
address = ctypes.cast(numbers, ctypes.c_void_p)
out = HostBuffer(b"out", address, ctypes.sizeof(numbers), address)
program = ctypes.c_void_p(vyre.vyre_module_program(module, ctypes.c_size_t(0)))
check(
    vyre.vyre_dispatch(
        program,
        None,
        (ctypes.c_uint32 * 3)(1, 1, 1),
        ctypes.byref(out),
        ctypes.c_size_t(1),
        None,
        ctypes.byref(outputs),
        ctypes.byref(why),
    ),
    why,
)
digest = ctypes.create_string_buffer(65)
check(vyre.vyre_outputs_digest(outputs, digest), why)
print(*numbers, digest.value.decode())
print(
    vyre.vyre_outputs_backend(outputs).decode(),
    vyre.vyre_outputs_note(outputs).decode(),
    file=sys.stderr,
)

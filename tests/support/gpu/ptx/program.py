"""PTX text as functions: parameters, registers, instructions and labels."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_COMMENT = re.compile(r"//[^\n]*")
_ENTRY = re.compile(r"\.entry (\w+)\(([^)]*)\)\s*(?:\.\w+[^{]*)?\{(.*?)\n\}", re.DOTALL)
_PARAMETER = re.compile(r"\.param(?: \.align \d+)? \.(\w+)(?: \.ptr)?(?: \.global)?(?: \.align \d+)? (\w+)")
_SHARED = re.compile(r"(?:\.extern )?\.shared(?: \.align (\d+))? \.[a-z](\d+) (\w+)(\[(\d*)\])?;")
_MOST_SHARED = 48 << 10  # bytes of a block: those of memory without a length
_SCOPE = re.compile(r"^\s+[{}]\s*$", re.MULTILINE)  # registers of an inner scope have names of their own
_LABEL = re.compile(r"(\$\w+):")
_REGISTERS = re.compile(r"\.reg \.(\w+) (%\w+)(?:<\d+>)?")
_LOCAL = re.compile(r"\.local .*\b(\w+)\[(\d+)\]")
_INSTRUCTION = re.compile(r"(?:@(!?)(%\w+) )?([\w.]+)\s*(.*)")
_OPERANDS = re.compile(r",(?![^{]*\})")
_ENDS_BLOCK = ("bra", "ret", "exit")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    opcode
        ``add.s64`` as ``("add", "s64")``.
    operands
        As in the text.
    guard, negated
        The predicate that a thread must hold (or, `negated`, must not) to take part; empty: all do.
    """

    opcode: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""
    negated: bool = False

    @property
    def ends_block(self) -> bool:
        """Whether threads may go elsewhere behind it."""
        return self.opcode[0] in _ENDS_BLOCK

    @property
    def gathers(self) -> bool:
        """Whether threads meet here, are asked who is here, or let others go first."""
        return "sync" in self.opcode or self.opcode[0] in ("activemask", "nanosleep")

    @property
    def yields(self) -> bool:
        """Whether threads here wait for what others do."""
        return self.opcode[0] == "nanosleep"


@dataclass(slots=True)
class Function:
    """A kernel: names and types of its parameters, register types by prefix, instructions, labels, bytes of stack.

    `shared` is the number of bytes that its blocks share.
    """

    name: str
    parameters: list[tuple[str, str]] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    stack: int = 0
    shared: int = 0

    def block_starts(self) -> list[int]:
        """Instructions that threads may come to from elsewhere, or wait at; ascending."""
        starts = {0, *self.labels.values()}
        for place, instruction in enumerate(self.code):
            if instruction.gathers:
                starts |= {place, place + 1}
            elif instruction.ends_block:
                starts.add(place + 1)
        return sorted(starts)


def parse(text: str) -> dict[str, Function]:
    """The kernels of a PTX module by name.

    Raises
    ------
    NotImplementedError
        A directive that is not known here.
    """
    found = {}
    text = re.sub(r"[ \t]+", " ", _COMMENT.sub("", text))
    declared = [match.groups() for match in _SHARED.finditer(text)]
    for name, parameters, body in _ENTRY.findall(text):
        function = found[name] = Function(name)
        body = _with_shared(function, _SHARED.sub("", body), declared)
        function.parameters = [(name, kind) for kind, name in _PARAMETER.findall(parameters)]
        for statement in _SCOPE.sub("", _LABEL.sub(r"\1:;", body)).split(";"):
            _add(function, " ".join(statement.split()))
    return found


def _with_shared(function: Function, body: str, declared: list[tuple[str | None, ...]]) -> str:
    """Place the shared arrays that a body names, and write their places for their names."""
    for align, bits, name, brackets, length in declared:
        if not re.search(rf"\b{name}\b", body):
            continue
        begin = -(-function.shared // int(align or 8)) * int(align or 8)
        size = int(bits or 8) // 8 * int(length or 1)
        function.shared = begin + (_MOST_SHARED if brackets and not length else size)
        body = re.sub(rf"\b{name}\b", str(begin), body)
    return body


def _add(function: Function, statement: str) -> None:
    if not statement or statement.startswith(".pragma"):
        return
    if statement.endswith(":"):
        function.labels[statement[:-1]] = len(function.code)
    elif match := _REGISTERS.match(statement):
        function.registers[match[2]] = match[1]
    elif match := _LOCAL.match(statement):
        function.stack = int(match[2])
    elif statement[0] == ".":
        raise NotImplementedError(statement)
    elif match := _INSTRUCTION.match(statement):
        operands = tuple(operand.strip() for operand in _OPERANDS.split(match[4])) if match[4] else ()
        function.code.append(Instruction(tuple(match[3].split(".")), operands, match[2] or "", match[1] == "!"))

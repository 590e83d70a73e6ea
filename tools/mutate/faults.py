# SPDX-License-Identifier: Apache-2.0
"""Faults of one line: where they can be made in a tree, and in which order a seed draws them."""
import collections
import hashlib
import pathlib
import random
import re

# Area: folders, pattern of files, least share of the mutants.
AREAS = {
    "compiler": (("compiler",), "*.c", 0.0),
    "targets": (("targets",), "*.c", 0.0),
    "runtime": (("runtime",), "*.c", 0.08),
    "sim": (("sim",), "*.c", 0.10),
    "rtl": (("sim/rtl",), "*.sv", 0.15),
}
# Kind of fault: weight in the draw.
KINDS = {"comparison": 0.22, "constant": 0.20, "sign": 0.17, "operator": 0.17, "dropped": 0.24}

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SIGNS = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
OPERATORS = {"*": "/", "/": "*", "%": "/", "&&": "||", "||": "&&", "<<": ">>", ">>": "<<",
             "&": "|", "|": "&", "^": "|", "*=": "/=", "/=": "*=", "<<=": ">>=", ">>=": "<<=",
             "&=": "|=", "|=": "&="}
BINARY = {"comparison": COMPARISONS, "sign": SIGNS, "operator": OPERATORS}

NOT_DRAWN = re.compile(r"\b(assert|static_assert|_Static_assert|__builtin_unreachable|__asm__|"
                       r"property|typedef|\$error|\$fatal)\b")
C_DECLARATION = re.compile(r"(?!return\b|goto\b|else\b|delete\b|case\b)"
                           r"((static|const|extern|unsigned|struct|enum|volatile)\s+)*"
                           r"\w+(\(\w+( \*?)?\))?(\s+\**|\s*\*+\s*)(const\s+)?\w+\s*([=;,\[(]|$)")
SV_DECLARATION = re.compile(r"(input|output|inout|logic|wire|reg|bit|int|integer|genvar|localparam|"
                            r"parameter|typedef|module|import|function|task)\b")


class Fault(collections.namedtuple("Fault", "area kind path line column old new")):
    """old at (line, column), both from 1, becomes new; text: the whole line before."""

    @property
    def place(self):
        return f"{self.path}:{self.line}"

    @property
    def change(self):
        return f"{self.line}:{self.column}:{self.old}:{self.new}"

    @property
    def site(self):
        return f"{self.path}:{self.change}"

    def key(self, root):
        digest = hashlib.sha256((root / self.path).read_bytes()).hexdigest()[:12]
        return f"{self.path}@{digest}:{self.change}"

    def before(self, root):
        return lines_of(root / self.path)[self.line - 1]

    def after(self, root):
        text, at = self.before(root), self.column - 1
        assert text[at:at + len(self.old)] == self.old, self
        return text[:at] + self.new + text[at + len(self.old):]

    def apply(self, root, to):
        lines = lines_of(root / self.path)
        lines[self.line - 1] = self.after(root)
        (to / self.path).write_text("\n".join(lines), encoding="utf-8")


def place_of(site):
    """Path and line of Fault.site."""
    path, line, _ = site.split(":", 2)
    return path, int(line)


def lines_of(path):
    return pathlib.Path(path).read_text(encoding="utf-8").split("\n")


def blanked(text, is_sv):
    """The text with comments, literals of characters and preprocessor lines as spaces."""
    out, last = [], 0
    pattern = (r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"' +
               (r"|^[ \t]*`(?:ifdef|ifndef)\b.*?^[ \t]*`endif[^\n]*|^[ \t]*`[^\n]*|\(\*.*?\*\)"
                if is_sv else r"|'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*"))
    for m in re.finditer(pattern, text, re.S | re.M):
        out += [text[last:m.start()], re.sub(r"[^\n]", " ", m[0])]
        last = m.end()
    return "".join(out) + text[last:]


# ---- sites ------------------------------------------------------------------------------------


def is_assignment(code, at):
    """Whether `<=` at this place of a line of SystemVerilog is a non-blocking assignment."""
    head = code[:at]
    while (m := re.match(r"\s*(if|for|else if)\s*\(", head)):
        depth, i = 1, m.end()
        while i < len(head) and depth:
            depth += {"(": 1, ")": -1}.get(head[i], 0)
            i += 1
        if depth:
            return False
        head = head[i:]
    return "=" not in head and head.count("(") == head.count(")")


def binary_sites(code, is_sv):
    for m in re.finditer(r"(?<=[\w)\]}\"'] )([-+*/%<>=!&|^]{1,3})(?= |$)", code):
        for kind, table in BINARY.items():
            if m[1] in table and not (is_sv and m[1] == "<=" and is_assignment(code, m.start())):
                yield kind, m.start(), m[1], table[m[1]]


def unary_sites(code):
    for m in re.finditer(r"(?<=[(=,?:&|!<> {])([!~-])(?=[\w(])", code):
        if m[1] == "-" and code[:m.start()].rstrip()[-1:].isalnum() and not re.search(
                r"return\s*$", code[:m.start()]):
            continue
        yield ("sign" if m[1] == "-" else "operator"), m.start(), m[1], ""
    if not re.search(r"\bfor \(", code):
        for m in re.finditer(r"\+\+|--", code):
            yield "sign", m.start(), m[0], "--" if m[0] == "++" else "++"


def successor(digits, base, rng):
    value = int(digits.replace("_", ""), base)
    new = value + 1 if value != 1 else rng.choice((0, 2))
    return {2: f"{new:b}", 8: f"{new:o}", 10: str(new), 16: f"{new:x}"}[base]


def constant_sites(code, is_sv, rng):
    if is_sv:
        bases = {"b": 2, "o": 8, "d": 10, "h": 16}
        for m in re.finditer(r"(?<!\w)(\d*)'(s?)([bodh])([0-9a-fA-F_]+)\b", code):
            new = successor(m[4], bases[m[3]], rng)
            if m[1] and int(new, bases[m[3]]) >> int(m[1]):
                new = "0"
            yield "constant", m.start(4), m[4], new
    for m in re.finditer(r"(?<![\w.'])(0x[0-9a-fA-F]+|\d+)(?![\w.'x])(?=[uUlL]*\b|\b)", code):
        if not is_sv and re.match(r"\s*[\w *]*\w\[$", code[:m.start()]) and C_DECLARATION.match(
                code.strip()):
            continue  # the size of an array
        base = 16 if m[1].startswith("0x") else 10
        new = successor(m[1][2:] if base == 16 else m[1], base, rng)
        yield "constant", m.start(), m[1], "0x" + new if base == 16 else new


def dropped_sites(code, before, is_sv):
    text = code.strip()
    if (not re.fullmatch(r"[^{}]*;", text) or text.count("(") != text.count(")")
            or not re.search(r"([;{}):]|\belse|\bdo|\bbegin(\s*:\s*\w+)?|\bend)$", before)
            or re.match(r"(return|goto|default|case|else|end)\b|[^\w*(+-]", text)):
        return
    if is_sv:
        statement = re.match(r"(if\b|assign\b|[\w\[\]:.{}, +-]+<?=)", text)
        if SV_DECLARATION.match(text) or not statement:
            return
    elif C_DECLARATION.match(text) or not re.search(r"[(=]|\+\+|--|^(break|continue);", text):
        return
    at = len(code) - len(code.lstrip())
    yield "dropped", at, text, ";" if not is_sv or not text.startswith("assign") else ""


def sites(root, area, path, rng):
    is_sv = path.suffix == ".sv"
    text = path.read_text(encoding="utf-8")
    name, before, depth = str(path.relative_to(root)), "", 0
    for i, (line, code) in enumerate(zip(text.split("\n"), blanked(text, is_sv).split("\n")), 1):
        skip = not code.strip() or NOT_DRAWN.search(code)
        if is_sv:
            skip = skip or SV_DECLARATION.match(code.strip())
        elif not depth and not re.search(r"[=}]|^\s", code):
            skip = True  # a head of a function
        found = [] if skip else [*binary_sites(code, is_sv), *unary_sites(code),
                                 *constant_sites(code, is_sv, rng)]
        if not skip and (is_sv or depth):
            # A statement with a string in it is dropped as it stands.
            found += [(k, at, line[at:].rstrip(), new)
                      for k, at, _, new in dropped_sites(code, before, is_sv)
                      if "/*" not in line and "//" not in line]
        for kind, at, old, new in found:
            yield Fault(area, kind, name, i, at + 1, old, new)
        depth += code.count("{") - code.count("}")
        before = code.rstrip() or before


def files_of(root, area):
    folders, pattern, _ = AREAS[area]
    files = sorted(f for d in folders for f in (root / d).rglob(pattern))
    return [f for f in files if area == "rtl" or not f.is_relative_to(root / "sim/rtl")]


def code_lines(root, area):
    return sum(1 for f in files_of(root, area) for l in blanked(
        f.read_text(encoding="utf-8"), area == "rtl").split("\n") if l.strip())


# ---- drawing ----------------------------------------------------------------------------------


def shares(root, count):
    """How many mutants an area gets: by its lines of code, no fewer than its floor."""
    lines = {a: code_lines(root, a) for a in AREAS}
    total = sum(lines.values())
    share = {a: max(AREAS[a][2], lines[a] / total) for a in AREAS}
    scale = sum(share.values())
    out = {a: int(count * share[a] / scale) for a in AREAS}
    for a in sorted(AREAS, key=lambda a: out[a] - count * share[a] / scale)[:count - sum(
            out.values())]:
        out[a] += 1
    return out


def draw(root, area, seed):
    """All faults of an area in the order of the seed: first the kind is drawn, then the site."""
    rng = random.Random(f"{seed}/{area}")
    kinds = collections.defaultdict(list)
    for path in files_of(root, area):
        for fault in sites(root, area, path, rng):
            kinds[fault.kind].append(fault)
    for kind in KINDS:
        rng.shuffle(kinds[kind])
    while any(kinds.values()):
        left = [k for k in KINDS if kinds[k]]
        kind = rng.choices(left, [KINDS[k] for k in left])[0]
        yield kinds[kind].pop()

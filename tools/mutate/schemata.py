# SPDX-License-Identifier: Apache-2.0
"""One build with all faults of the C code in it, each behind a switch (mutant schemata: Untch,
Offutt and Harrold, 1993): a fault is then tried without a build of its own.

An expression with a fault becomes `(WK_FAULT(n) ? with the fault : as it was)`, a statement that is
dropped `{ if (!WK_FAULT(n)) { it } }`; libclang says where an expression begins and ends. What is
no expression of a function (tables, sizes of arrays, case labels), what a macro turns into text and
what does not compile stays as it was: such a fault has no number and is built alone.
"""
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

from clang import cindex

from . import faults, work

SWITCH = pathlib.Path(__file__).with_name("switch.h")
FLAGS = re.compile(r"-[ID]|-std=|-isystem$")
ARRAYS = {getattr(cindex.TypeKind, k)
          for k in ("CONSTANTARRAY", "INCOMPLETEARRAY", "VARIABLEARRAY")}
ROUNDS = 40  # of compiling, until all that does not compile is out


# ---- where a fault is in the syntax tree -------------------------------------------------------


def expressions(cursor, path, kinds, is_constant=True):
    """Those of the kinds in the functions of a file, but for initialisers of what is static."""
    top = cursor.kind == cindex.CursorKind.TRANSLATION_UNIT
    children = list(cursor.get_children())
    if cursor.kind == cindex.CursorKind.CASE_STMT:
        children = children[1:]  # not the label
    if cursor.kind == cindex.CursorKind.VAR_DECL and cursor.type.kind in ARRAYS:
        children = [c for c in children if c.kind == cindex.CursorKind.INIT_LIST_EXPR]  # no sizes
    for child in children:
        kind, constant = child.kind, is_constant
        if top and (child.location.file is None or child.location.file.name != path):
            continue
        if kind == cindex.CursorKind.FUNCTION_DECL:
            constant = False
        elif kind == cindex.CursorKind.VAR_DECL:
            constant = constant or child.storage_class == cindex.StorageClass.STATIC
        elif kind in (cindex.CursorKind.ENUM_DECL, cindex.CursorKind.STRUCT_DECL,
                      cindex.CursorKind.UNION_DECL):
            constant = True
        if not constant and kind in kinds:
            yield child
        yield from expressions(child, path, kinds, constant)


def operator_at(text, node):
    """The offset of the operator of an expression, of the number itself; None: not seen."""
    begin, end = node.extent.start.offset, node.extent.end.offset
    parts = [(c.extent.start.offset, c.extent.end.offset) for c in node.get_children()]
    if not parts:
        return begin
    if len(parts) == 1:
        return begin if parts[0][0] > begin else parts[0][1]
    between = re.sub(rb"/\*.*?\*/|//[^\n]*", lambda m: b" " * len(m[0]),
                     text[parts[0][1]:parts[1][0]], flags=re.S)
    found = re.match(rb"[\s)]*([-+*/%<>=!&|^]{1,3})", between)
    return parts[0][1] + found.start(1) if found and parts[1][1] <= end else None


def spans(path, text, arguments):
    """{offset of an operator or number: (begin, end) of its expression}, spans of macros' uses."""
    kinds = {getattr(cindex.CursorKind, k) for k in (
        "BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "UNARY_OPERATOR", "INTEGER_LITERAL")}
    unit = cindex.Index.create().parse(
        str(path), arguments, options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
    out = {}
    for node in expressions(unit.cursor, str(path), kinds):
        extent = node.extent
        if extent.start.file and extent.start.file.name == str(path) and (
                extent.start.offset < extent.end.offset):
            at = operator_at(text, node)
            if at is not None:
                out[at] = (extent.start.offset, extent.end.offset)
    macros = [(c.extent.start.offset, c.extent.end.offset) for c in unit.cursor.get_children()
              if c.kind == cindex.CursorKind.MACRO_INSTANTIATION
              and c.location.file and c.location.file.name == str(path)]
    return out, macros


# ---- the text with switches -------------------------------------------------------------------


Switch = collections.namedtuple("Switch", "begin end before after")


def switches(path, text, arguments, numbered):
    """{number: Switch} of the faults (number, Fault) of a file that can have one."""
    lines = text.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    span_of, macros = spans(path, text, arguments)
    out = {}
    for number, fault in numbered:
        head = lines[fault.line - 1].decode()[:fault.column - 1]
        at = starts[fault.line - 1] + len(head.encode())
        old = fault.old.encode()
        if fault.kind == "dropped":
            if not any(begin < at < end for begin, end in macros):
                before = b"{ if (!WK_FAULT(%d)) { " % number
                out[number] = Switch(at, at + len(old), before, b" } }")
        elif at in span_of:
            begin, end = span_of[at]
            wrong = text[begin:at] + (fault.new.encode() or b" ") + text[at + len(old):end]
            if not re.search(rb"//|^\s*#", wrong, re.M):
                before = b"(WK_FAULT(%d) ? (%s) : (" % (number, wrong.replace(b"\n", b" "))
                out[number] = Switch(begin, end, before, b"))")
    return out


def with_switches(text, chosen):
    """The text with the switches put in, the outer ones around the inner ones."""
    marks = []
    for number, s in chosen.items():
        marks += [(s.begin, 1, -s.end, number, s.before), (s.end, 0, -s.begin, -number, s.after)]
    out, last = [], 0
    for at, *_, mark in sorted(marks):
        out += [text[last:at], mark]
        last = at
    return b"".join([*out, text[last:]])


def blamed(errors, text, name, is_late):
    """Numbers of the switches that errors of the compiler point to; with is_late, of all near."""
    lines, out = text.split(b"\n"), set()
    number = re.compile(rb"WK_FAULT\((\d+)\)")
    dropped = re.compile(rb"\{ if \(!WK_FAULT\((\d+)\)\)")
    for m in re.finditer(r"^([^\s:]+):(\d+):(\d+): (?:fatal )?error: (.*)", errors, re.M):
        if os.path.basename(m[1]) != name:
            continue
        at, column, message = int(m[2]) - 1, int(m[3]), m[4]
        near = range(max(at - 15, 0), at)
        hit = [int(x[1]) for x in number.finditer(lines[at]) if x.start() < column][-1:]
        unknown = re.search(r"‘(\w+)’ undeclared", message)
        if unknown:  # its declaration was taken for a statement
            hit = [int(d[1]) for i in near if re.search(rb"\b%s\b" % unknown[1].encode(), lines[i])
                   for d in dropped.finditer(lines[i])] or hit
        elif "else" in message and not hit:  # the `if` above it was
            hit = [int(d[1]) for i in near for d in dropped.finditer(lines[i])][-1:]
        if is_late or not hit:
            hit += [int(x[1]) for i in [*(near if is_late else ()), at]
                    for x in number.finditer(lines[i])]
        out.update(hit)
    return out


def instrument(source, target, arguments, numbered, count):
    """Writes the source with switches to the target; the numbers of those that compile."""
    text = source.read_bytes()
    chosen = switches(source, text, arguments, numbered)
    trial = target.with_name(f".switched-{target.name}")
    for attempt in range(ROUNDS):
        trial.write_bytes(with_switches(text, chosen))
        done = subprocess.run(
            ["cc", "-w", "-fsyntax-only", "-fmax-errors=0", "-fdiagnostics-color=never",
             f"-DWK_FAULTS={count}", "-include", str(SWITCH), *arguments, str(trial)],
            stderr=subprocess.PIPE, text=True, check=False, env=os.environ | {"LC_ALL": "C.UTF-8"})
        wrong = blamed(done.stderr, trial.read_bytes(), trial.name, attempt > 8) & set(chosen)
        if done.returncode == 0:
            break
        chosen = {n: s for n, s in chosen.items() if n not in wrong} if wrong else {}
    else:
        chosen = {}
    trial.unlink()
    target.unlink(missing_ok=True)
    target.write_bytes(with_switches(text, chosen))
    return sorted(chosen)


# ---- the build --------------------------------------------------------------------------------


class Chooser:
    """In place of random numbers, where a fault may be one of two."""

    def __init__(self, at):
        self.at = at

    def choice(self, options):
        return options[self.at]


def all_faults(root):
    """Path of a C file: all faults that a draw may find in it, each with a number, from 1; and one
    more than the last number. What becomes bitcode runs without the process around it."""
    out, next_number = {}, 1
    for area in faults.AREAS:
        for path in faults.files_of(root, area):
            if path.suffix != ".c" or path.parent.name == "bitcode":
                continue
            found = {f.site: f for at in (0, -1)
                     for f in faults.sites(root, area, path, Chooser(at))}
            out[str(path.relative_to(root))] = list(enumerate(found.values(), next_number))
            next_number += len(found)
    return out, next_number


class Copy(work.Copy):
    """numbers: {site of a fault: number}; in the environment of a run, chosen() makes the fault and
    reaching() records."""

    def __init__(self, root, folder, jobs):
        super().__init__(root, folder, "schemata")
        self.jobs, self.record = jobs, folder / "faults.json"
        self.by_file, count = all_faults(root)
        self.count = -(-count // 4096) * 4096  # whole pages
        self.flags = f"-O1 -w -DWK_FAULTS={self.count} -include {SWITCH}"
        made_of = [*self.by_file, *headers_of(root), SWITCH, __file__, faults.__file__]
        self.digests = {name: digest(root / name) for name in made_of}
        had = json.loads(self.record.read_text()) if self.record.exists() else {}
        self.is_current = had.get("digests") == {str(k): v for k, v in self.digests.items()}
        self.numbers = had["numbers"] if self.is_current else {}

    def restore(self, name):
        return not (self.is_current and name in self.by_file) and super().restore(name)

    def prepare(self):
        """Puts the switches in."""
        if self.is_current:
            return
        self.record.unlink(missing_ok=True)
        self.make_headers()
        arguments = arguments_of(self.build / "compile_commands.json", self.tree)
        with concurrent.futures.ProcessPoolExecutor(self.jobs) as pool:
            done = {name: pool.submit(instrument, self.root / name, self.tree / name,
                                      arguments[name], numbered, self.count)
                    for name, numbered in self.by_file.items() if name in arguments}
        for name, future in done.items():
            kept = set(future.result())
            self.numbers |= {f.site: n for n, f in self.by_file[name] if n in kept}

    def make_headers(self):
        """Those that a command makes, without what the build would have ready before."""
        tool = ["ninja", "-C", self.build, "-t"]
        targets = work.quiet([*tool, "targets", "all"]).stdout
        headers = re.findall(r"^([^\s/]\S*\.h): CUSTOM_COMMAND", targets, re.M)
        for command in work.quiet([*tool, "commands", "-s", *headers]).stdout.splitlines():
            subprocess.run(command, shell=True, check=True, cwd=self.build)

    def bring_up_to_date(self):
        super().bring_up_to_date()
        self.record.write_text(json.dumps({"digests": {
            str(k): v for k, v in self.digests.items()}, "numbers": self.numbers}))
        self.is_current = True

    def chosen(self, number):
        return {"WK_FAULT": str(number)}

    def reaching(self, path):
        path.write_bytes(bytes(self.count))
        return {"WK_FAULTS_REACHED": str(path)}


def headers_of(root):
    folders = {d for area in faults.AREAS.values() for d in area[0]}
    return sorted(str(f.relative_to(root)) for d in folders for f in (root / d).rglob("*")
                  if f.suffix in (".h", ".def", ".inc"))


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]


def arguments_of(commands, tree):
    """Path: options of the compiler that say what a file means, from compile_commands.json."""
    out = {}
    for entry in json.loads(commands.read_text()):
        words = shlex.split(entry["command"])
        chosen = [w for before, w in zip(["", *words], words)
                  if FLAGS.match(w) or before == "-isystem"]
        out.setdefault(os.path.relpath(entry["file"], tree), chosen)
    return out

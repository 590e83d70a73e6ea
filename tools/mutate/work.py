# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree with a build of its own, and tests that run in it under limits."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

# Say nothing about what the code does; rtl/own-rtl is about patches.
NO_TESTS = re.compile(r"lint/(?!rtl)|rtl/own-rtl|widths/")
BYTES = 6 << 30  # of memory, for all processes of a test


def tracked(root):
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, text=True,
                          stdout=subprocess.PIPE, check=True)
    return [f for f in done.stdout.split("\n") if f and (root / f).is_file()]


def quiet(command, **more):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **more)


class Test:
    def __init__(self, entry, build):
        properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
        self.name, self.command = entry["name"], entry.get("command", [])
        self.folder = properties.get("WORKING_DIRECTORY", str(build))
        self.skips = properties.get("SKIP_RETURN_CODE", 77)
        inside = [c for c in self.command if c.startswith(f"{build}/")]
        self.targets = [c[len(str(build)) + 1:] for c in inside if not c.endswith("/rtl")]


class Copy:
    """FOLDER/tree and FOLDER/build; kind: "fast" or "sanitize" or (schemata.py) "schemata"."""

    FLAGS = {"fast": "-O2", "sanitize": "-O2 -g"}

    def __init__(self, root, folder, kind="fast"):
        self.root, self.folder, self.kind = root, folder, kind
        self.tree, self.build = folder / "tree", folder / "build"
        self.flags = self.FLAGS.get(kind)
        self.failing = set()  # tests known to fail here without a fault
        self.environment = dict(
            os.environ, WICK_CACHE=str(folder / "models"),
            CCACHE_DIR=str(folder.parent / "ccache"), CCACHE_MAXSIZE="4G", CCACHE_BASEDIR="/",
            CCACHE_NOHASHDIR="1", UBSAN_OPTIONS="print_stacktrace=1")
        if shutil.which("ccache"):
            self.environment |= {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "OBJCACHE": "ccache"}

    def bring_up_to_date(self):
        """The copy is made what the tree is, file by file, and built: what did not change stays."""
        self.tree.mkdir(parents=True, exist_ok=True)
        for old in [*self.folder.glob("log-*"), *self.folder.glob("reached-*")]:
            old.unlink()  # of a run that was stopped
        names = tracked(self.root)
        for old in {str(f.relative_to(self.tree)) for f in self.tree.rglob("*")
                    if f.is_file()} - set(names):
            (self.tree / old).unlink()
        for name in names:
            self.restore(name)
        shared = self.folder / "shared"
        if not shared.exists() and (self.root.parent / "shared").is_dir():
            shared.symlink_to(self.root.parent / "shared")
        sanitize = "ON" if self.kind == "sanitize" else "OFF"
        done = quiet(["cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja",
                      "-DCMAKE_BUILD_TYPE=Release", f"-DWICK_SANITIZE={sanitize}",
                      f"-DCMAKE_C_FLAGS_RELEASE={self.flags}",
                      "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], env=self.environment)
        if done.returncode == 0:
            self.prepare()
            done = self.ninja(["all"])
        if done.returncode:
            raise SystemExit(f"tools/mutants: {self.folder} does not build:\n{done.stdout[-3000:]}")
        self.tests = self.read_tests()
        self.objects = self.read_objects()

    def prepare(self):
        """What is done before the copy, which is configured, is built."""

    def restore(self, name):
        """Copies a file of the tree if it differs; says whether it did."""
        source, target = self.root / name, self.tree / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy(source, target)
        return True

    def ninja(self, targets):
        return quiet(["nice", "-n", "5", "ninja", "-C", self.build, *targets], env=self.environment)

    def read_tests(self):
        done = subprocess.run(["ctest", "--test-dir", str(self.build), "--show-only=json-v1"],
                              stdout=subprocess.PIPE, text=True, check=True)
        tests = [Test(e, self.build) for e in json.loads(done.stdout)["tests"]]
        return {t.name: t for t in tests if not NO_TESTS.match(t.name)}

    def read_objects(self):
        """Path of a source: what it becomes in the build, its library's object first."""
        out = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            name = os.path.relpath(entry["file"], self.tree)
            out.setdefault(name, []).append(re.search(r" -o (\S+)", entry["command"])[1])
        for source in (self.tree / "targets/cpu/rare/bitcode").glob("*.c"):
            out[str(source.relative_to(self.tree))] = [
                f"generated/rare/{source.stem}.{isa}.bc"
                for isa in ("avx512", "avx2", "x86-64", "aarch64")]
        return {k: sorted(v, key=lambda o: "/wk_" not in o and "wick_rt" not in o)
                for k, v in out.items()}

    def contents(self, name):
        """Of the objects of a source, as far as they are built."""
        objects = self.objects[name]
        objects = objects if objects[0].endswith(".bc") else objects[:1]
        return [(self.build / o).read_bytes() for o in objects]

    def compile(self, name):
        objects = self.objects[name]
        return self.ninja(objects if objects[0].endswith(".bc") else objects[:1])

    # ---- models of the RTL

    pristine_rtl = None

    def models(self):
        return set((self.folder / "models").glob("*"))

    def keep_models(self, kept):
        """Models that a fault made go away."""
        for file in self.models() - kept:
            shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)

    def no_models(self):
        """The environment of a run that finds none."""
        shutil.rmtree(self.folder / "no-models", ignore_errors=True)
        return {"WICK_CACHE": str(self.folder / "no-models")}

    def take_models(self, other):
        (self.folder / "models").mkdir(exist_ok=True)
        for file in (other / "models").glob("*.so"):
            shutil.copy(file, self.folder / "models")

    def verilated(self):
        """A digest of the C++ that Verilator makes of the RTL, for each machine; None: errors."""
        out, digest = self.folder / "verilated", hashlib.sha256()
        for machine in sorted((self.tree / "targets/accel/machines").glob("*.cfg")):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            package = subprocess.run([self.build / "wick", "isa", "--sv", "--machine", machine],
                                     stdout=subprocess.PIPE, check=True)
            (out / "wick_pkg.sv").write_bytes(package.stdout)
            files = sorted((self.tree / "sim/rtl").glob("*.sv"), key=lambda f: "_pkg" not in f.name)
            done = quiet(["nice", "-n", "5", "verilator", "--cc", "-O3", "-Wno-fatal", "--flatten",
                          "-Wno-lint", "--x-assign", "fast", "--x-initial", "unique",
                          "--top-module", "wick_accel", "--Mdir", out / "cpp", "wick_pkg.sv",
                          *files], cwd=out)
            if done.returncode:
                return None
            for file in sorted((out / "cpp").glob("*.[ch]*")):
                digest.update(file.name.encode() + file.read_bytes())
        return digest.hexdigest()

    def sanitizing(self):
        """The copy beside this one whose build has the sanitizers, made when first asked for."""
        if not self.other:
            self.other = Copy(self.root, self.folder.with_name(self.folder.name + "-sanitize"),
                              "sanitize")
            self.other.bring_up_to_date()
            self.other.take_models(self.folder)
        return self.other

    other = None

    # ---- tests

    def run(self, test, limit, environment=()):
        """Runs a test whose targets are built: (result, seconds of a processor, end of the
        output). The result is passed, skipped, failed, crash, time limit (seconds of a processor,
        or three times as many of the clock) or memory limit. One that prints as cmocka does is
        stopped at its first failure."""
        began = time.monotonic()
        env = self.environment | dict(environment)
        file, log = tempfile.mkstemp(prefix="log-", dir=self.folder)
        log = pathlib.Path(log)
        with open(file, "wb") as out:
            child = subprocess.Popen(["nice", "-n", "5", *test.command], cwd=test.folder, env=env,
                                     stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                     start_new_session=True)
        result, pause = None, 0.005
        while result is None and not has_ended(child):
            time.sleep(pause)
            pause = min(pause * 1.3, 0.5)
            if time.monotonic() - began > 3 * limit or (
                    pause > 0.2 and processor_time(child.pid) > limit):
                result = "time limit"
            elif b"[  FAILED  ]" in tail(log):
                result = "failed"
            elif pause > 0.2 and memory(child.pid) > BYTES:
                result = "memory limit"
        code, seconds = stop(child)
        if result is None:
            result = ("passed" if code == 0 else "skipped" if code == test.skips else
                      "crash" if code < 0 or code > 127 else "failed")
        text = tail(log, 3000).decode(errors="replace")
        log.unlink()
        return result, seconds, text


def tail(path, size=20000):
    with open(path, "rb") as f:
        f.seek(max(0, os.fstat(f.fileno()).st_size - size))
        return f.read()


def members(session):
    """Processes of a session, with their resident bytes and seconds of a processor."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                field = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(field[3]) == session:
                yield (int(entry.name), int(field[21]) * os.sysconf("SC_PAGESIZE"),
                       sum(map(int, field[11:15])) / os.sysconf("SC_CLK_TCK"))


def memory(session):
    return sum(size for _, size, _ in members(session))


def processor_time(session):
    return sum(seconds for _, _, seconds in members(session))


def has_ended(child):
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def stop(child):
    """Ends whatever is left of a test's session: exit status, seconds of a processor."""
    for pid, *_ in list(members(child.pid)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_utime + usage.ru_stime

"""The programs that bench/run.py compares: ours, and the peers that are installed. Each takes turns with the others."""
import atexit
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "peers")
# malloc keeps freed memory; otherwise PyTorch requests each large block from the system again.
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184", "MALLOC_TOP_PAD_": "536870912"}
# With this library before the others, MKL takes its kernels for Intel's processors on every processor.
TAKE_ALL_KERNELS = "int mkl_serv_intel_cpu_true(void);\nint mkl_serv_intel_cpu_true(void) { return 1; }\n"
TICK = os.sysconf("SC_CLK_TCK")


class Missing(Exception):
    """A side that cannot run; the text says why."""


class OtherRows(Missing):
    """A side that does not measure rows of this kind."""


# ---- Processes ----


class Process:
    """A program that answers every line of its standard input with a line of JSON."""

    limit = 600  # seconds per answer
    running = set()

    def __init__(self, command, env):
        self.errors = tempfile.TemporaryFile(mode="w+")
        self.late = False
        # In a session of its own: end() also ends what it has started, such as compilers. Ctrl-C does not reach it there.
        self.process = subprocess.Popen(command, env={**os.environ, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, start_new_session=True)
        self.running.add(self)
        self.about = self.answer()

    def ask(self, value):
        try:
            print(value, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # answer() says why
        return self.answer()

    def answer(self):
        timer = threading.Timer(self.limit, self.end_late)
        timer.start()
        try:
            for line in self.process.stdout:
                if line.startswith("{"):
                    return json.loads(line)
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)  # it keeps its number until end()
        finally:
            timer.cancel()
        self.end()
        if self.late:
            raise Missing(f"no answer within {self.limit:g} s (--limit)")
        self.errors.seek(0)
        said = [line.strip() for line in self.errors if line.strip()] or ["no message"]
        status = self.process.returncode
        killed = f"ended by signal {-status} (9: memory ran out?)" if status < 0 else f"exit status {status}"
        raise Missing(f"{killed}: {said[-1][:300]}")

    def end_late(self):
        self.late = True
        self.kill()

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self):
        if self.process.returncode is None:
            self.kill()
            self.process.wait()
        self.running.discard(self)

    def close(self):
        self.end()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()


@atexit.register
def end_all():
    for process in list(Process.running):
        process.end()


class Steps:
    """Training steps: bench_steps and its peers."""

    WARM = 2  # steps after the first one, before the first turn

    def __init__(self, command, env):
        self.process = Process(command, env)
        first, warm = self.process.ask(1), self.process.ask(self.WARM)
        self.usual = statistics.median(warm["ms"])
        self.facts = {**self.process.about, "first_ms": first["ms"][0], "losses": first["losses"] + warm["losses"]}

    def turn(self, seconds):
        answer = self.process.ask(1 + max(1, min(200, round(1e3 * seconds / self.usual))))
        times = answer["ms"][1:]  # the first step finds the caches, and memory that the system took back, as others left them
        self.usual = statistics.median(times)
        self.facts["peak_mib"] = answer["peak_mib"]
        return times

    def processor_seconds(self):
        return self.process.processor_seconds()

    def close(self):
        self.process.close()


class Calls:
    """A case of peers/ops.py."""

    def __init__(self, command, env):
        self.process = Process(command, env)
        if not self.process.about["known"]:
            self.process.close()
            raise OtherRows("has no such case")
        self.facts = {"library": self.process.about["library"]}
        self.process.ask(0.1)  # warms up

    def turn(self, seconds):
        return self.process.ask(seconds)["ms"]

    def processor_seconds(self):
        return self.process.processor_seconds()

    def close(self):
        self.process.close()


class GoogleBenchmark:
    """A case of a program of Google Benchmark, as a new process per turn."""

    REPETITIONS = 5

    def __init__(self, program, name, env, *more):
        self.command = [program, f"--benchmark_filter=^{re.escape(name)}(/real_time)?$", "--benchmark_format=json",
                        f"--benchmark_repetitions={self.REPETITIONS}", *more]
        self.env = {**os.environ, **env}
        self.facts = {}

    def turn(self, seconds):
        command = [*self.command, f"--benchmark_min_time={seconds / self.REPETITIONS}"]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not done.stdout.startswith("{"):
            raise Missing(f"{os.path.basename(self.command[0])}: {(done.stderr.strip() or 'no case').splitlines()[-1]}")
        scale = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
        return [run["real_time"] * scale[run["time_unit"]] for run in json.loads(done.stdout)["benchmarks"]
                if run["run_type"] == "iteration"]

    def processor_seconds(self):
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def close(self):
        pass


def cases_of(programs):
    """{name: program} of all cases of these programs of Google Benchmark."""
    found = {}
    for program in programs:
        listed = subprocess.run([program, "--benchmark_list_tests"], capture_output=True, text=True, check=False).stdout
        found.update({name.removesuffix("/real_time"): program for name in listed.split()})
    return found


# ---- Sides ----


def programs_in(build, prefix):
    names = sorted(os.listdir(build)) if os.path.isdir(build) else []
    return [os.path.join(build, name) for name in names if name.startswith(prefix) and name != "bench_steps"]


class Ours:
    key = "ours"

    def __init__(self, build, threads):
        self.build, self.threads = build, threads
        if not os.path.exists(os.path.join(build, "bench_steps")):
            raise Missing(f"{build} has no bench_steps: build with -D TAPEGRAD_BENCH=ON, or without --no-build")
        self.cases = cases_of(programs_in(build, "bench_"))

    def start(self, row):
        if row.kind == "step":
            return Steps(self.steps(row), {})
        if row.name not in self.cases:
            raise OtherRows("has no such case")
        return GoogleBenchmark(self.cases[row.name], row.name, {}, f"--threads={self.threads}")

    def steps(self, row, **more):
        return [os.path.join(self.build, "bench_steps"), row.arguments(threads=self.threads, **more)]

    def write_weights(self, row, path):
        Process(self.steps(row, save=path), {}).close()


class Before(Ours):
    """Our programs of another build, such as that of an older commit."""

    key = "before"


class PyTorch:
    """A: as it is installed. B: with all of MKL's kernels; compiled: with torch.compile."""

    def __init__(self, key, python, threads, kernels=None, compiled=False):
        self.key, self.python, self.threads, self.compiled = key, python, threads, compiled
        self.env = {**TUNED, "OMP_NUM_THREADS": str(threads), **({"LD_PRELOAD": kernels} if kernels else {})}

    def start(self, row):
        if row.kind == "step":
            more = ["--compile"] if self.compiled else []
            return Steps([self.python, os.path.join(PEERS, "steps.py"), row.arguments(threads=self.threads), *more], self.env)
        if self.compiled:
            raise OtherRows("single operations are not compiled")
        return Calls([self.python, os.path.join(PEERS, "ops.py"), "--threads", str(self.threads), row.name], self.env)

    def linear_gflops(self):
        """The rate of [256, 768] x [3072, 768]', which tells the kernels apart."""
        code = ("import time, torch\nx, w = torch.randn(256, 768), torch.randn(3072, 768)\nbest = 1e9\n"
                "for _ in range(50):\n  start = time.perf_counter()\n  torch.nn.functional.linear(x, w)\n"
                "  best = min(best, time.perf_counter() - start)\nprint(2e-9 * 256 * 768 * 3072 / best)")
        said = subprocess.run([self.python, "-c", code], env={**os.environ, **self.env}, capture_output=True, text=True, check=True)
        return float(said.stdout)


class Jax:
    key = "jax"

    def __init__(self, python, threads):
        self.python, self.threads = python, threads
        self.env = {"OMP_NUM_THREADS": str(threads), "JAX_PLATFORMS": "cpu",
                    "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'} "
                                 f"intra_op_parallelism_threads={threads}"}

    def start(self, row, weights):
        if row.kind != "step" or "dtype" in row.settings:
            raise OtherRows("steps in float32 only")
        arguments = row.arguments(threads=self.threads, weights=weights)
        return Steps([self.python, os.path.join(PEERS, "jax_steps.py"), arguments], self.env)


class LibTorch:
    key = "libtorch"

    def __init__(self, build, threads):
        self.cases = cases_of(programs_in(build, "peer_"))
        if not self.cases:
            raise Missing("the build has no peer_ops: LibTorch was not found when it was configured")
        self.env = {**TUNED, "OMP_NUM_THREADS": str(threads)}

    def start(self, row):
        if row.name not in self.cases:
            raise OtherRows("has no such case")
        return GoogleBenchmark(self.cases[row.name], row.name, self.env)


class Generation:
    """llama.cpp or CTranslate2: peers/generation.py."""

    def __init__(self, key, python, threads):
        if not shutil.which(python):
            raise Missing(f"no program {python}")
        self.key, self.env = key, {**TUNED, "OMP_NUM_THREADS": str(threads)}
        self.command = [python, os.path.join(PEERS, "generation.py"), "--threads", str(threads), key]
        process = Process([*self.command, "version"], self.env)
        self.version = process.about["library"]
        process.close()

    def start(self, row):
        if not row.name.startswith(("generate/", "prompt/")):
            raise OtherRows("generation only")
        return Calls([*self.command, row.name], self.env)


def version_of(python, module):
    """The module's version, or None if this interpreter cannot import it."""
    code = f"import {module}; print({module}.__version__)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def all_kernels(folder):
    """Compiles the library that lets MKL take all of its kernels."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise Missing("no C compiler, so PyTorch runs with the kernels that MKL chooses only")
    source, library = os.path.join(folder, "all_kernels.c"), os.path.join(folder, "liball_kernels.so")
    with open(source, "w", encoding="ascii") as file:
        file.write(TAKE_ALL_KERNELS)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


def peers(options, folder):
    """The peers that are installed. Says on standard error which are not."""
    found = []

    def add(name, make):
        try:
            found.append(make())
        except Missing as why:
            print(f"bench: without {name}: {why}", file=sys.stderr)

    if options.before:
        add("the build before", lambda: Before(options.before, options.threads))

    def torch(key, **more):
        return PyTorch(key, options.python, options.threads, **more)

    if options.ours:
        return found
    if shutil.which(options.python) and version_of(options.python, "torch"):
        add("PyTorch", lambda: torch("A"))
        add("PyTorch with all of MKL's kernels", lambda: torch("B", kernels=all_kernels(folder)))
        if not options.quick:
            add("torch.compile", lambda: torch("B compiled", kernels=all_kernels(folder), compiled=True))
    else:
        print(f"bench: without PyTorch: {options.python} cannot import torch; --python PYTHON or the environment variable "
              "PYTHON names an interpreter that can", file=sys.stderr)
    if shutil.which(options.python) and version_of(options.python, "jax"):
        add("JAX", lambda: Jax(options.python, options.threads))
    else:
        print(f"bench: without JAX: {options.python} cannot import jax", file=sys.stderr)
    add("LibTorch", lambda: LibTorch(options.build, options.threads))
    for key in ("llama.cpp", "CTranslate2"):
        add(key, lambda key=key: Generation(key, options.python, options.threads))
    return found

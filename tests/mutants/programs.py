"""Mutants of files that samples of operations do not check: update rules, derivatives as functions, the gradient check
itself. Their checks are gtest programs; each mutant is a process, which runs the tests that reach its site."""
import os
import random
import re
import subprocess
import time

KINDS_OF = [0, 4, 2, 1, 2, 2, 1, 1, 2]  # as in runner.cpp
EVERY_SITE = -2
# The tests of the files that begin so.
PROGRAMS = [
    ("optim/rules/", [("test_optim", "optimizers nadam rules"), ("test_optim", "optimizers_net lbfgs")]),
    ("autograd/derivatives/", [("test_autograd", "derivatives gradcheck custom"), ("test_nn", "gradcheck derivatives per_example hooks")]),
    ("nn/module/recompute.cpp", [("test_nn", "recompute")]),
]
# Tests of exact values, of ties and of special numbers, for the operations of a folder of autograd/ops: a second net for
# what survives the samples.
OPERATIONS = {
    "attention": "ops/attention ops/window_attention ops/flex_attention ops/softmax_norm_loss derivative_limits",
    "convolution": "ops/convolution",
    "elementwise": "ops/elementwise special derivative_limits cases/extreme_arguments",
    "fuse": "ops/fuse fused",
    "linalg": "ops/linalg derivative_limits",
    "loss": "ops/losses ops/scan_and_loss ops/softmax_norm_loss ops/linear_cross_entropy",
    "norm": "ops/softmax_norm_loss ops/losses derivative_limits",
    "pooling": "ops/pooling",
    "product": "ops/blas ops/product_order ops/kernels",
    "random": "random/distributions random/random",
    "reduce": "ops/reduce ops/scan_and_loss derivative_limits cases/extreme_arguments witnesses/third_order",
    "scan": "ops/scan_and_loss witnesses/third_order",
    "segment": "ops/segment",
    "shape": "ops/index ops/elementwise",
    "softmax": "ops/softmax_norm_loss derivative_limits",
    "special": "special cases/extreme_arguments",
}
PROGRAMS += [(f"autograd/ops/{folder}/", [("test_autograd", "ops/special_values " + files), ("test_nn", "per_example")]) for folder, files in OPERATIONS.items()]
MOST_SECONDS = 2  # longer tests of operations are about time, memory and sizes
LONG = "*Threads*:*DeathTest*:Recompute.RunsOneConst*"  # about other things than values


def programs_of(path):
    return next((tests for begin, tests in PROGRAMS if path.startswith(begin)), [])


class Programs:
    def __init__(self, build, programs, environment):
        self.build, self.programs, self.environment = build, programs, environment

    def tests(self):
        """(program, test) of every test of the files."""
        for program, files in self.programs:
            for name in files.split():
                file = f"tests/{program[len('test_'):]}/{name}.cpp"
                listed = subprocess.run([os.path.join(self.build, program), "--file=" + file, "--gtest_list_tests",
                                         "--gtest_filter=-" + LONG], capture_output=True, text=True, env=self.environment).stdout
                suite = ""
                for line in listed.splitlines():
                    if re.match(r"\S+\.", line):
                        suite = line.split()[0]
                    elif line.startswith("  "):
                        yield program, suite + line.split()[0]

    def execute(self, program, names, seconds, mutant=None, reached=None):
        """None if the tests pass, or killed, crash, timeout."""
        environment = dict(self.environment)
        if mutant is not None:
            environment["MUTANT"] = str(mutant)
        if reached:
            environment["MUTANTS_REACHED"] = reached
        command = [os.path.join(self.build, program), "--gtest_filter=" + ":".join(names), "--gtest_fail_fast", "--gtest_brief=1"]
        try:
            done = subprocess.run(command, env=environment, timeout=seconds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return "timeout"
        return None if done.returncode == 0 else "killed" if done.returncode == 1 else "crash"

    def reach(self, file):
        """Which tests reach which sites, and the types of these; kept in the file of results."""
        known = file.of("test")
        if not known:
            path = file.log + ".reached"
            for program, name in self.tests():
                start = time.time()
                failed = self.execute(program, [name], 120, reached=path)
                types = open(path, "rb").read() if os.path.exists(path) and not failed else b""
                at = [f"{site}:{t}" for site, t in enumerate(types) if t]
                file.add(f"test\t{program}\t{name}\t{time.time() - start:.2f}\t{' '.join(at)}")
            if os.path.exists(path):
                os.remove(path)
            known = file.of("test")
        return [(program, name, float(seconds), dict(map(int, s.split(":")) for s in at.split())) for program, name, seconds, at in known]

    def kill(self, tests, mutant):
        """(verdict, number of tests): those of a program together, the quick ones first."""
        count = 0
        for slow in (False, True):
            for program in dict.fromkeys(t[0] for t in tests):
                chosen = [t for t in tests if t[0] == program and (t[2] > 0.7) == slow]
                if chosen:
                    verdict = self.execute(program, [t[1] for t in chosen], 10 + 10 * sum(t[2] for t in chosen), mutant)
                    count += len(chosen)
                    if verdict:
                        return verdict, count
        return "survived", count

    def run(self, file, number, seed, left):
        most = MOST_SECONDS if file.path.startswith("autograd/ops/") else 60
        tests = [t for t in self.reach(file) if t[2] < most]
        types = {}
        for test in tests:
            for site, t in test[3].items():
                types[site] = min(types.get(site, 99), t)
        for site, t in types.items():
            line = f"reached\t{site}\t{t}"
            if line not in file.lines:
                file.add(line)
        reaching = [t for t in tests if t[3]]
        if reaching and not file.of("control"):
            file.add("control\tnone\t" + self.kill(reaching, -1)[0])
            file.add("control\tevery\t" + self.kill(reaching, EVERY_SITE)[0])
        done = file.results()
        todo = [site * 8 + kind for site, t in sorted(types.items()) for kind in range(KINDS_OF[t])]
        # Survivors of the samples are tried, too.
        todo = [m for m in todo if m not in done or (done[m][3] == "survived" and done[m][6] != "tests")]
        random.Random(seed).shuffle(todo)
        todo.sort(key=lambda m: m not in done)
        for mutant in todo:
            if (number <= 0 and mutant not in done) or left() <= 0:
                return
            number -= mutant not in done
            start = time.time()
            verdict, count = self.kill([t for t in tests if mutant // 8 in t[3]], mutant)
            file.add(f"mutant\t{mutant // 8}\t{mutant % 8}\t{types[mutant // 8]}\t{verdict}\t{1000 * (time.time() - start):.0f}\t"
                     f"{count} of {count}\ttests")

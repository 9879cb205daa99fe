"""Sampled stacks are parsed, and each stack belongs to the step of its innermost function that has a rule."""

import json
from pathlib import Path

import pytest

from bench.profiling.stacks import java_stacks, python_stacks
from bench.profiling.steps import MEANINGS, Rule, Rules, Step

REPOSITORY = Path(__file__).parents[3]
# Lines that py-spy and async-profiler wrote, with shortened command lines, and the step to which each line belongs.
RECORDED = json.loads((Path(__file__).parent / "recorded_stacks.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("line", "step"),
    [(each["line"], each["step"]) for each in RECORDED["python"]],
    ids=lambda value: value[-60:],
)
def test_a_recorded_stack_of_a_python_process_has_its_step(line: str, step: str) -> None:
    (stack,) = python_stacks(line)
    assert stack.step.value == step


@pytest.mark.parametrize(
    ("line", "step"),
    [(each["line"], each["step"]) for each in RECORDED["java"]],
    ids=lambda value: value[-60:],
)
def test_a_recorded_stack_of_the_jvm_has_its_step(line: str, step: str) -> None:
    (stack,) = java_stacks(line, pid=7)
    assert (stack.step.value, stack.pid) == (step, 7)


def test_the_innermost_process_of_a_line_owns_the_stack() -> None:
    processes = 'process 10:"python run.py";process 11:"java -cp a;b";process 12:"python -m pyspark.daemon"'
    (stack,) = python_stacks(f"{processes};work (a.py:3) 5\n")
    assert (stack.pid, stack.frames, stack.samples) == (12, ("work (a.py:3)",), 5)


def test_equal_stacks_are_added_up_per_process() -> None:
    text = 'process 1:"p";f (a.py:1) 2\nprocess 2:"p";f (a.py:1) 3\nprocess 1:"p";f (a.py:1) 4\n'
    assert {stack.pid: stack.samples for stack in python_stacks(text)} == {1: 6, 2: 3}


def test_threads_of_the_jvm_are_compared_without_their_numbers() -> None:
    text = (
        "[C2 CompilerThread0 tid=12];Compile::Optimize 2\n[C2 CompilerThread0 tid=13];Compile::Optimize 3\n"
    )
    (stack,) = java_stacks(text, pid=1)
    assert (stack.frames[0], stack.samples, stack.step) == ("[C2 CompilerThread0]", 5, Step.START)


@pytest.mark.parametrize("text", ["f (a.py:1) 2", 'process 1:"p";f (a.py:1)', ""])
def test_a_line_without_process_or_count_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="This (line|stack)"):
        python_stacks(text + "\n")


def test_the_innermost_matching_frame_decides_and_the_first_rule_of_a_tier_wins() -> None:
    rules = Rules(
        (
            Rule(step=Step.TRANSFER, frame="compress", under="staging"),
            Rule(step=Step.COMPRESS, frame="compress"),
            Rule(step=Step.ENCODE, frame="encode"),
        ),
        (Rule(step=Step.JVM, frame="java"),),
    )
    assert rules.step_of(["encode", "compress", "java"]) is Step.COMPRESS
    assert rules.step_of(["staging", "encode", "compress"]) is Step.TRANSFER
    assert rules.step_of(["compress", "encode"]) is Step.ENCODE
    assert rules.step_of(["encode", "java", "java"]) is Step.ENCODE
    assert rules.step_of(["java", "main"]) is Step.JVM
    assert rules.step_of(["main"]) is Step.OTHER
    assert rules.step_of([]) is Step.OTHER


def test_the_page_explains_every_step() -> None:
    page = (REPOSITORY / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert all(f"| {step.value} | {meaning} |" in page for step, meaning in MEANINGS.items())
    assert set(MEANINGS) == set(Step) - {Step.WAITING}

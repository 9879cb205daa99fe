"""Small tasks share a Spark task; a heavy task has a Spark task of its own."""

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.task_groups import BYTES_OF_A_SPARK_TASK, group_tasks

WEIGHTS = st.lists(st.integers(1, 3 * BYTES_OF_A_SPARK_TASK), max_size=60)


@given(WEIGHTS, st.integers(1, 8))
def test_each_task_is_in_one_group_and_groups_are_balanced(weights: list[int], parallelism: int) -> None:
    groups = group_tasks(weights, parallelism)
    assert sorted(index for group in groups for index in group) == list(range(len(weights)))
    assert all(groups) or not weights
    loads = [sum(weights[i] for i in group) for group in groups]
    assert loads == sorted(loads, reverse=True)
    if loads:
        assert max(loads) - min(loads) <= max(weights)


def test_hundreds_of_small_files_need_one_round_of_spark_tasks() -> None:
    assert [len(group) for group in group_tasks([50_000] * 560, 4)] == [140] * 4


def test_each_heavy_task_has_a_spark_task_of_its_own() -> None:
    assert group_tasks([5 * BYTES_OF_A_SPARK_TASK] * 3, 2) == ((0,), (1,), (2,))


def test_even_a_few_small_tasks_are_spread_over_the_cluster() -> None:
    assert [len(group) for group in group_tasks([1000] * 7, 2)] == [4, 3]
    assert group_tasks([], 2) == ()

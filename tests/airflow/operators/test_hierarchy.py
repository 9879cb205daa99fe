"""Operators have few base classes, and each base class has one parent."""

import importlib
import inspect
import pkgutil

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import BaseOperator

from airflow_hudi_provider import operators

MAX_BASES = 3


def operators_of_this_package() -> list[type[BaseOperator]]:
    modules = [
        importlib.import_module(f"{operators.__name__}.{found.name}")
        for found in pkgutil.iter_modules(operators.__path__)
    ]
    return [
        kind
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, BaseOperator) and kind.__module__ == module.__name__
    ]


def is_of_this_package(kind: type) -> bool:
    return kind.__module__.startswith("airflow_hudi_provider.")


@pytest.mark.parametrize("operator", operators_of_this_package(), ids=lambda kind: kind.__name__)
def test_an_operator_has_at_most_three_base_classes_of_this_package(operator: type[BaseOperator]) -> None:
    bases = [kind for kind in operator.__mro__[1:] if is_of_this_package(kind)]
    assert len(bases) <= MAX_BASES
    assert all(len(kind.__bases__) == 1 for kind in (operator, *bases)), (
        "a class has more than one base class"
    )


def test_operators_of_jobs_extend_the_operator_of_airflow() -> None:
    kinds = [kind for kind in operators_of_this_package() if issubclass(kind, SparkSubmitOperator)]
    assert len(kinds) > 10

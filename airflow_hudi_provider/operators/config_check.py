"""Check the settings of a table's writers and services; warn or fail if a setting would harm the table."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import BaseOperator, BaseOperatorLink

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.links import TABLE_LINK, push_table_link
from airflow_hudi_provider.results.config_check import config_answer
from airflow_hudi_provider.results.log import log_result
from airflow_hudi_provider.results.task_outcome import task_error
from airflow_hudi_provider.tasks.arguments import check_base_path, names_of, options_of, text_of
from airflow_hudi_provider.tasks.lineage import lineage_of
from airflow_hudi_provider.tasks.metrics import measured
from airflow_hudi_provider.tasks.templates import names_filled_in_later, refuse_emptied
from hudi_table_services.contract.config_check import CheckConfigRequest, ConfigReport
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import HudiTableServiceError, UnsafeConfigError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


class HudiConfigCheckOperator(BaseOperator):
    """Check Hudi's options for settings that would harm a table.

    The check runs in the worker without Spark and writes nothing. Returns ``{"status", "findings", …}``. If a finding
    makes the task fail, the task stores this dictionary under the XCom key ``config`` instead of returning it.

    .. seealso:: docs/config-check.md

    :param hudi_options: settings to check: ``hoodie.*`` keys of writes and of all table services. (templated)
    :param base_path: table to compare the options with. Without ``base_path`` and ``hudi_conn_id``, the operator checks
        only the options. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path and storage connection. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param facts: facts about the environment, such as ``{"engine": "hudi", "writers": 2}``. (templated)
    :param knows_dag: read the facts ``max_active_runs``, ``catchup`` and ``takes_turns`` from the task's own DAG;
        values in ``facts`` take precedence.
    :param fail_on: lowest severity with which a finding makes the task fail, without a retry: ``error``, ``warning`` or
        ``advice``. With ``never`` the task only logs findings as warnings.
    :param accepted_rules: ids of rules whose findings the user accepts.
    """

    script: ClassVar[str] = "check_config.py"
    changes_table = False
    last_result: JobResult | None = None
    """Result of the check, even if the findings make the task fail. None if the check did not run or did not finish."""

    operator_extra_links: Collection[BaseOperatorLink] = (TABLE_LINK,)
    template_fields: Sequence[str] = (
        "hudi_options",
        "base_path",
        "hudi_conn_id",
        "storage_conn_id",
        "table_name",
        "facts",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"hudi_options": "json", "facts": "json"}
    ui_color = "#c8e6f0"

    def __init__(
        self,
        *,
        hudi_options: Mapping[str, Any] | None = None,
        base_path: str | None = None,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        table_name: str = "",
        facts: Mapping[str, Any] | None = None,
        knows_dag: bool = True,
        fail_on: str = "error",
        accepted_rules: str | Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.hudi_options = hudi_options
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.table_name = table_name
        self.facts = facts
        self.knows_dag = knows_dag
        self.fail_on = fail_on
        self.accepted_rules = accepted_rules
        self._filled_in_later = names_filled_in_later(self, self.template_fields)
        self._check_when_the_dag_is_read()

    def execute(self, context: "Context") -> dict[str, Any]:
        """Check the options, log the findings, and fail if a finding reaches the severity ``fail_on``."""
        with measured(self):
            return self._carry_out(context)

    def _carry_out(self, context: "Context") -> dict[str, Any]:
        from hudi_table_services.services.registry import script

        self.last_result = None
        refuse_emptied(self, self._filled_in_later)
        push_table_link(self, context)
        try:
            request = self._request(context)
            result = script(self.script).run(None, request, storage=self._storage())
        except UnsafeConfigError as error:
            failed = self.last_result = JobResult.failed(self._request(context), error)
            log_result(self.log, failed, operator=type(self))
            context["ti"].xcom_push(key="config", value=config_answer(failed))
            raise task_error(error) from error
        except HudiTableServiceError as error:
            raise task_error(error) from error
        except ModuleNotFoundError as error:
            raise HudiTaskRefusedError(
                f"The worker lacks the package {error.name}, which this task needs for this table. Install "
                "airflow-provider-hudi[airflow] on the worker."
            ) from error
        self.last_result = result
        log_result(self.log, result, operator=type(self))
        return config_answer(result)

    def lineage_inputs(self) -> list[str]:
        """Return the paths that the task reads besides the table."""
        return []

    def is_preview(self) -> bool:
        """Return whether the task is a preview; always False, because the task never writes."""
        return False

    def get_openlineage_facets_on_start(self) -> Any:
        return lineage_of(self, None)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        return lineage_of(self, self.last_result)

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        return lineage_of(self, self.last_result)

    def _has_table(self) -> bool:
        return self.base_path is not None or self.hudi_conn_id is not None

    def find_table(self) -> HudiHook:
        """Return the table's hook. The hook's ``location`` raises HudiTaskRefusedError if no argument names a table."""
        return HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)

    def table_label(self) -> str:
        """Return the table's name if it is known, else the name of its folder; an empty string if there is no table."""
        report = self.last_result.report_as(ConfigReport) if self.last_result is not None else None
        name = (report.table if report is not None else "") or self.table_name
        return str(name or (self.base_path or "").rstrip("/").rpartition("/")[2])

    def _storage(self) -> Any:
        return self.find_table().storage if self._has_table() else None

    def _request(self, context: "Context") -> CheckConfigRequest:
        return CheckConfigRequest(
            base_path=self.find_table().location.base_path if self._has_table() else "",
            table_name=self.table_name,
            facts={**self._facts_of_dag(context), **self._given_facts()},
            **self._plain_fields(),
        )

    def _plain_fields(self) -> dict[str, Any]:
        return {
            "options": options_of(self.hudi_options, {}),
            "fail_on": self.fail_on,
            "accepted_rules": names_of(self.accepted_rules, "accepted_rules"),
        }

    def _given_facts(self) -> dict[str, str]:
        return {name: text_of(value) for name, value in (self.facts or {}).items()}

    def _facts_of_dag(self, context: "Context") -> dict[str, str]:
        dag = context.get("dag") if self.knows_dag else None
        found = {name: getattr(dag, name, None) for name in ("max_active_runs", "catchup")}
        if (
            self._given_facts().get("engine", "native") == "native"
        ):  # if Hudi's own jobs write, tasks of other operators may write, too
            turns = {_takes_turns(task) for task in getattr(dag, "tasks", ())} - {None}
            found["takes_turns"] = turns == {True} if turns else None
        return {name: text_of(value) for name, value in found.items() if value is not None}

    def _check_when_the_dag_is_read(self) -> None:
        """Refuse invalid values that rendering cannot correct. Raises ValueError with the task's id."""
        from hudi_table_services.planning.config_check.check import check_rule_names

        check_base_path(self.task_id, self.base_path, self.hudi_conn_id)
        templated = set(self._filled_in_later)
        for name in ("hudi_options", "facts"):
            value = getattr(self, name)
            if name not in templated and not isinstance(value or {}, Mapping):
                raise ValueError(f"{self.task_id}: {name} must be a dictionary, not {value!r}.")
        try:
            facts = {} if "facts" in templated else self._given_facts()
            fields: dict[str, Any] = (
                {"fail_on": self.fail_on} if "hudi_options" in templated else self._plain_fields()
            )
            fields["accepted_rules"] = names_of(self.accepted_rules, "accepted_rules")
            check_rule_names(CheckConfigRequest(facts=facts, **fields))
        except HudiTableServiceError as error:
            raise ValueError(f"{self.task_id}: {error}") from error


def _takes_turns(task: Any) -> bool | None:
    """Return whether a write task, mapped or not, has ``take_turns=True``; for other tasks, return None."""
    from airflow_hudi_provider.operators.write import HudiWriteOperator

    if isinstance(task, HudiWriteOperator):
        return task.take_turns
    kind = getattr(task, "operator_class", None)
    if not (isinstance(kind, type) and issubclass(kind, HudiWriteOperator)):
        return None
    return task.partial_kwargs.get("take_turns") is True

"""Send the health of a table when a task succeeds, fails, is retried or misses its deadline."""

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.common.compat.module_loading import import_string
from airflow.providers.common.compat.sdk import BaseNotifier

from airflow_hudi_provider.notifications.payload import TableSelection, health_payload, needs_attention
from airflow_hudi_provider.tasks.arguments import check_choice

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

Send = Callable[[dict[str, Any]], Any]


class HudiHealthNotifier(BaseNotifier):
    """Read the health of the table, and send the health together with the outcome of the task.

    Use this notifier as ``on_success_callback``, ``on_failure_callback`` or ``on_retry_callback``, or in deadline
    alerts. `airflow_hudi_provider.notifications.payload.health_payload` describes the payload.

    .. seealso:: docs/notifications.md

    :param send: a function that is called with the payload, or the dotted name of the function.
    :param to: the notifier that sends the message, such as Slack's, or the dotted name of its class. Templates of that
        notifier can use the payload as ``hudi``, for instance ``text="{{ hudi.text }}"``.
    :param to_arguments: arguments for the class, if ``to`` is the name of a class. In deadline alerts, ``to`` must be a
        name.
    :param base_path: URI or path of the table. Without ``base_path`` and ``hudi_conn_id``, the notifier reads the table
        of the task. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param warn_above: maps each measure to its limit. A measure above its limit is a finding. If this argument is not
        given, the default limits of health tasks apply. Exception: if the task is a health task, and the notifier has
        neither ``base_path`` nor ``hudi_conn_id``, the limits of the task apply.
    :param hudi_options: ``hoodie.clean.*`` keys that define which files cleaning keeps.
    :param when: ``always`` sends every message. ``attention`` sends a message only if the task failed, or if the table
        is not healthy or cannot be read.
    """

    template_fields: Sequence[str] = ("base_path", "hudi_conn_id", "storage_conn_id")

    def __init__(
        self,
        *,
        send: Send | str | None = None,
        to: BaseNotifier | str | None = None,
        to_arguments: Mapping[str, Any] | None = None,
        base_path: str | None = None,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        warn_above: Mapping[str, float] | None = None,
        hudi_options: Mapping[str, str] | None = None,
        when: Literal["always", "attention"] = "always",
        context: "Context | None" = None,
    ) -> None:
        super().__init__(context)
        if send is None and to is None:
            raise ValueError("HudiHealthNotifier: set the argument 'send', the argument 'to', or both.")
        if to_arguments and not isinstance(to, str):
            raise ValueError("HudiHealthNotifier: to_arguments requires that 'to' is the name of a class.")
        check_choice("HudiHealthNotifier", "when", when, ("always", "attention"))
        self.send = send
        self.to = to
        self.to_arguments = dict(to_arguments or {})
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.warn_above = dict(warn_above or {})
        self.hudi_options = dict(hudi_options or {})
        self.when = when

    def notify(self, context: "Context") -> None:
        """Send the payload to all receivers, even if sending to one of them fails. Then raise the first error."""
        selection = TableSelection(
            base_path=self.base_path,
            hudi_conn_id=self.hudi_conn_id,
            storage_conn_id=self.storage_conn_id,
            warn_above=self.warn_above,
            hudi_options=self.hudi_options,
        )
        payload = health_payload(context, selection)
        if self.when == "attention" and not needs_attention(payload):
            self.log.info("No message is sent, because the table is healthy and the task did not fail.")
            return
        failures = []
        for send in (self._send, self._notify_receiver):
            try:
                send(context, payload)
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    async def async_notify(self, context: "Context") -> None:
        """Run `notify` in a thread, because reading a table would block the event loop."""
        await asyncio.to_thread(self.notify, context)

    def _send(self, context: "Context", payload: dict[str, Any]) -> None:
        if self.send is not None:
            send = import_string(self.send) if isinstance(self.send, str) else self.send
            send(payload)

    def _notify_receiver(self, context: "Context", payload: dict[str, Any]) -> None:
        if self.to is None:
            return
        # Use a copy, because rendering changes a notifier in place, and the next message needs the templates.
        receiver: Any = self.to
        receiver = (
            import_string(receiver)(**self.to_arguments) if isinstance(receiver, str) else copy.copy(receiver)
        )
        receiver({**context, "hudi": payload})

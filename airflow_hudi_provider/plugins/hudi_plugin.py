"""The plugin: macros for templates. Found by the entry point ``airflow.plugins``."""

from datetime import datetime, timezone

from airflow.providers.common.compat.sdk import AirflowPlugin


def instant_time(moment: datetime) -> str:
    """A moment as Hudi writes it, in UTC: ``{{ macros.hudi.instant_time(data_interval_start) }}``."""
    utc = moment.astimezone(timezone.utc)
    return utc.strftime("%Y%m%d%H%M%S") + f"{utc.microsecond // 1000:03d}"


class HudiPlugin(AirflowPlugin):
    """``macros.hudi`` in every template."""

    name = "hudi"
    macros = [instant_time]  # noqa: RUF012 - as Airflow declares it

"""Names of services in metrics and lineage."""


def service_of(script_name: str) -> str:
    """Return the service of a job script: ``clean.py`` → ``clean``. All write operations have the name ``write``."""
    from hudi_table_services.services.registry import script

    return script(script_name).metric_name

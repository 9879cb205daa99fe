"""Key of commits without rows (HoodieWriteConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.options.kinds import Flag
from hudi_table_services.options.option import option

ALLOW_EMPTY_COMMIT = option(
    "hoodie.allow.empty.commit",
    False,
    "if no row of a batch changes an existing table, commit nevertheless, so that the metadata of the commit is stored "
    "[Hudi: true]",
    Flag(),
)
EMPTY_COMMIT_OPTIONS = {"Commits without rows": (ALLOW_EMPTY_COMMIT,)}

"""Keep the metadata table equal to the table. Only `commits.commit_point` calls this package."""

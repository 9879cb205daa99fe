"""Update the metadata table for each change of its table. Only `commits.commit_point` calls this package."""

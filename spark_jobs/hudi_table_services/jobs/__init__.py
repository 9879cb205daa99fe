"""Jobs: each job calls other packages to load a table, to plan, to request, to execute and to complete."""

"""Jobs: each job calls other packages to load a table, plan changes, request an instant, execute and complete it."""

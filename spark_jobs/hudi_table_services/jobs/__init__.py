"""Jobs: each job calls other packages to load a table, plan changes, and request, execute and complete an instant."""

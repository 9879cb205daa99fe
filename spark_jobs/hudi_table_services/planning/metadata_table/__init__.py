"""Plan how a commit of the table changes the metadata table, and when the services of the metadata table run."""

"""The command `hudi-services`: every job, and views of a table. Only this package imports rich and argcomplete."""

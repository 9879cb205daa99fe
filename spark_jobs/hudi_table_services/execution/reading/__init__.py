"""Read the rows of file slices with Arrow, in this process or on the executors of Spark."""

"""What the two sides of a job know of each other: request, result, options. Standard library only."""

"""What each job script does with its arguments, by family."""

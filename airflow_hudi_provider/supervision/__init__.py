"""Runs of spark-submit that outlive the task that began them, and how others see, follow and end them."""

"""Execute clustering plans on Spark."""

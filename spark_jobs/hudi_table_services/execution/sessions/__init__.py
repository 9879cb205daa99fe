"""Start and stop the Spark sessions of jobs: local sessions, and sessions of spark-submit or Spark Connect."""

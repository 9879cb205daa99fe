"""Apache Hudi table services on Spark and Arrow, without the Hudi JAR."""

__version__ = "0.1.0"

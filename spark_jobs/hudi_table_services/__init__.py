"""Apache Hudi table services on Spark and Arrow, without the Hudi JAR."""

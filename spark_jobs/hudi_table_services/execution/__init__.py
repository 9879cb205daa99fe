"""Execute plans with Spark and Arrow. The functions of this package return write stats, and change no timeline."""

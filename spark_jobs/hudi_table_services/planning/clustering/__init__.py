"""Planning of clustering."""

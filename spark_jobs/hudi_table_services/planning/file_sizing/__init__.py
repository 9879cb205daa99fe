"""Planning of file sizes."""

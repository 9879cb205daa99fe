"""Parts of the demo."""

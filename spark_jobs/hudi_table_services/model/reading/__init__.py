"""Values of reads: what a user asks for, and what a read opens."""

"""Pure functions: snapshot and options in, plan out. No clock, no random, no I/O."""

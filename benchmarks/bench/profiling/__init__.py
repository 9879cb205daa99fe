"""Sample the processor time of a scenario, assign every sample to a step, and show the core-seconds of the steps."""

"""How tasks report results: outcome of the task, return values, asset events, log lines and text pictures."""

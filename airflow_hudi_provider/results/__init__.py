"""What tasks report: judgement of a result, task log lines, figures and pictures."""

"""How a project stands, in figures and words: status, progress, agreement, the report."""

"""What is answered: the summary, tables, points, progress."""

"""What is typed and what surrounds it: the grammar of commands, the environment."""

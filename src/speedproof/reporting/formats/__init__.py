"""What a command can write: a module a format, made from the same reports and imported when it is asked."""

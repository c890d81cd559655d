"""What labels mean: names, descriptions, encoders, other people's opinions. No hint is built in yet."""

"""What measuring costs: the client's own time, processor and memory, against the double."""

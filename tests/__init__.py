"""What must hold."""

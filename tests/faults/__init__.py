"""What the suite does when servers, users and machines misbehave: whole sessions, real HTTP."""

"""Makes the suite's options, markers and fixtures known to pytest."""

pytest_plugins = ["fixtures.plugin"]

"""A small OpenAI-compatible completions server that answers as told: a double of Llama 4's server.

    with running_double(answers="gsm8k/test.jsonl", accuracy=0.9348, delay=0.05) as double:
        ...  # double.base_url, double.stats(), double.pid

or, as a command, `python -m tests.double --answers gsm8k/test.jsonl --accuracy 0.9348`.
"""

from tests.double.behaviour import Behaviour
from tests.double.plan import Fate, Planned, plan
from tests.double.running import Double, running_double
from tests.double.stats import Stats

__all__ = ["Behaviour", "Double", "Fate", "Planned", "Stats", "plan", "running_double"]

"""What is measured and decided: questions, prompts, answers, the client, records and verdicts.

Knows nothing of pytest, servers or GPUs.
"""

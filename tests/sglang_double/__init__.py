"""A double of SGLang on GPUs: an interpreter that has it, servers that answer, GPUs on paper."""

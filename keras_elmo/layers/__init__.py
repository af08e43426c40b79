"""The layers of ELMo, from characters to the mix of the biLM's layers."""

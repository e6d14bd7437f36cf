"""LightXML in plain torch, as slowly and obviously as possible: the probability of every label of one text."""

import torch


def probabilities(weights, encoder, tokens, groups=None, shortlist=None):
    """Return a probability for each label; 0 for labels outside of the best clusters."""
    with torch.no_grad():
        states = encoder(**tokens, output_hidden_states=True).hidden_states
        vector = torch.cat([states[-layer][0, 0] for layer in (1, 2, 3, 4, 5)])
        coarse = torch.sigmoid(weights["l0.weight"] @ vector + weights["l0.bias"])
        if groups is None:
            return coarse.numpy()
        short = weights["l1.weight"] @ vector + weights["l1.bias"]
        result = torch.zeros(weights["embed.weight"].shape[0])
        for group in sorted(range(len(groups)), key=lambda g: -coarse[g])[:shortlist]:
            for label in groups[group]:
                result[label] = coarse[group] * torch.sigmoid(weights["embed.weight"][label] @ short)
        return result.numpy()

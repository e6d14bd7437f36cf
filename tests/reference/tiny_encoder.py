"""A tiny random encoder of Hugging Face, made on the spot."""

import json


def make_tiny_encoder(folder, *, layers=2, size=16, pooling=None, seed=0):
    """Write a BERT with random weights and a vocabulary of a few words; return the folder."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "label", "tree", "long", "tail", "of", "a", "and"]
    (folder / "vocab.txt").write_text("\n".join([*words, *"bcdefghijklmnopqrstuvwxyz"]) + "\n")
    BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=38,
        hidden_size=size,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * size,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    if pooling is not None:
        types = [f"sentence_transformers.models.{name}" for name in ("Transformer", "Pooling", "Normalize")]
        (folder / "modules.json").write_text(json.dumps([{"type": kind} for kind in types]))
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": pooling == "first"}))
    return folder

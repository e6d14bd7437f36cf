"""Transformers to fine-tune: from a folder, from a name, or new ones with a vocabulary of the texts."""

from __future__ import annotations

import os
from typing import Any

from tailwise.models.encoders import import_transformers, load_pretrained
from tailwise.models.text_model_checks import NEW_ENCODER

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LONGEST = 512  # tokens


def open_transformer(encoder: Any, texts: list[str]) -> tuple[Any, Any]:
    """Return the tokenizer and the network that `encoder` stands for; a new one learns its vocabulary from texts."""
    if not isinstance(encoder, dict):
        return load_pretrained(os.fspath(encoder))
    sizes = {**NEW_ENCODER, **encoder}
    transformers = import_transformers()
    tokenizer = _learn_vocabulary(texts, sizes["vocabulary"])
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=sizes["size"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=4 * sizes["size"],
        max_position_embeddings=LONGEST,
    )
    return tokenizer, transformers.BertModel(config)


def as_tokenizer(tokenizer: Any) -> Any:
    """Wrap a tokenizer of the library tokenizers."""
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    return import_transformers().PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def _learn_vocabulary(texts: list[str], size: int) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=list(SPECIAL), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return as_tokenizer(tokenizer)

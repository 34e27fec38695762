"""The settings of a pre-training run."""

import dataclasses

from keras_bert.errors import InputError
from keras_bert.settings import setting
from keras_bert.text.masking_config import MaskingConfig
from keras_bert.training.config import TrainConfig


@dataclasses.dataclass(frozen=True)
class PretrainingConfig(TrainConfig, MaskingConfig):
    """The settings of a pre-training run; names as in google-research/bert.

    The masking settings are used for records without masks. For records with
    masks, each setting must have its default or the value with which the
    records were made.

    Attributes:
        num_train_steps: The number of steps of the whole run.
        num_warmup_steps: The number of steps until the learning rate reaches
            its peak.
        max_seq_length: The length of the sequences in the records.
        do_lower_case: Whether the text of the records was lower-cased, which
            fine-tuning needs to know. By default, the `.json` beside the
            records decides, or else the checkpoint, or else the vocabulary.
        next_sentence: Whether to train the next-sentence head (section 5.1 of
            the paper).
        replaced_tokens: Whether the network learns to find tokens that a small
            generator replaced (ELECTRA, arXiv 2003.10555). The generator
            is then trained as a masked LM.
        generator_size: The generator's width, number of heads and feed-forward
            width, as a fraction of the network's.
        replaced_tokens_weight: The factor of the replaced_tokens loss; the
            factor of the masked-LM loss is 1.
        pack_sequences: Whether several short sequences of a batch share a row,
            without attending to each other. This saves padding and does not
            change the losses. With jit_compile=on, every new shape is compiled.
        init_moments: Whether to load the optimizer's moments from the
            checkpoint as well, for a second phase with longer sequences.

    Example:
        >>> config = keras_bert.PretrainingConfig(max_seq_length=512)
        >>> config.learning_rate
        0.0001
    """

    # do_lower_case needs no check: a run cannot be resumed with another
    # tokenizer, because the tokenizer's files are compared.
    changeable = TrainConfig.changeable | {"do_lower_case"}

    num_train_steps: int = 100_000
    num_warmup_steps: int = setting(10_000, minimum=0)
    max_seq_length: int = 128
    do_lower_case: bool | None = None
    next_sentence: bool = True
    replaced_tokens: bool = False
    generator_size: float = setting(0.25, maximum=1)
    replaced_tokens_weight: float = 50.0
    pack_sequences: bool = False
    init_moments: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replaced_tokens and self.next_sentence:
            raise InputError(
                "ELECTRA has no next-sentence head; set next_sentence to False "
                "for a run with replaced_tokens."
            )

from .attention import SelfAttention as SelfAttention
from .dropout import Dropout as Dropout
from .embeddings import BertEmbeddings as BertEmbeddings
from .encoder_block import EncoderBlock as EncoderBlock
from .pooler import Pooler as Pooler
from .pretraining_heads import MaskedLMHead as MaskedLMHead
from .pretraining_heads import NextSentenceHead as NextSentenceHead

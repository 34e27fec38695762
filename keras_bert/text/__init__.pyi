from .masking import MaskedLMMasker as MaskedLMMasker
from .packing import BertPreprocessor as BertPreprocessor
from .tokenizer import BertTokenizer as BertTokenizer
from .tokenizer import PortableTokenizer as PortableTokenizer
from .tokenizer_settings import SpecialTokens as SpecialTokens
from .tokenizer_settings import TokenizerSettings as TokenizerSettings
from .vocab_learner import learn_vocab as learn_vocab

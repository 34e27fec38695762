from .checkpoints.heads import HeadNames as HeadNames
from .checkpoints.load import load_checkpoint as load_checkpoint
from .checkpoints.load_pretrained import PretrainedModel as PretrainedModel
from .checkpoints.load_pretrained import load_pretrained as load_pretrained
from .checkpoints.load_tokenizer import load_tokenizer as load_tokenizer
from .checkpoints.resize.config import ExtendVocabConfig as ExtendVocabConfig
from .checkpoints.resize.config import TrimVocabConfig as TrimVocabConfig
from .checkpoints.resize.extend_positions import (
    extend_positions as extend_positions,
)
from .checkpoints.resize.extend_vocab import extend_vocab as extend_vocab
from .checkpoints.resize.trim_vocab import trim_vocab as trim_vocab
from .config import BertConfig as BertConfig
from .errors import InputError as InputError
from .export.config import ExportConfig as ExportConfig
from .export.config import PretrainedExportConfig as PretrainedExportConfig
from .export.convert import convert_checkpoint as convert_checkpoint
from .export.fill_mask import fill_mask as fill_mask
from .export.pretrained import export_pretrained as export_pretrained
from .finetuning.config import FinetuningConfig as FinetuningConfig
from .finetuning.finetuned_model import FinetunedModel as FinetunedModel
from .finetuning.finetuned_model import is_finetuned as is_finetuned
from .finetuning.finetuned_model import load_finetuned as load_finetuned
from .finetuning.run import finetune as finetune
from .finetuning.search import search_hyperparameters as search_hyperparameters
from .kinds import get_kind as get_kind
from .kinds import known_kinds as known_kinds
from .kinds import known_settings as known_settings
from .kinds.embedding.settings import EmbeddingSettings as EmbeddingSettings
from .kinds.examples import Examples as Examples
from .kinds.kind import Kind as Kind
from .kinds.kind import TaskSpec as TaskSpec
from .kinds.settings import KindSettings as KindSettings
from .kinds.signatures import Signature as Signature
from .layers.attention import SelfAttention as SelfAttention
from .layers.dropout import Dropout as Dropout
from .layers.embeddings import BertEmbeddings as BertEmbeddings
from .layers.encoder_block import EncoderBlock as EncoderBlock
from .layers.pooler import Pooler as Pooler
from .layers.pretraining_heads import MaskedLMHead as MaskedLMHead
from .layers.pretraining_heads import NextSentenceHead as NextSentenceHead
from .models.bilstm import build_bilstm_classifier as build_bilstm_classifier
from .models.bilstm import (
    build_bilstm_token_classifier as build_bilstm_token_classifier,
)
from .models.classifier import build_classifier as build_classifier
from .models.classifier import build_regressor as build_regressor
from .models.embedder import build_embedder as build_embedder
from .models.encoder import build_encoder as build_encoder
from .models.feature_tagger import build_feature_tagger as build_feature_tagger
from .models.multiple_choice import (
    build_multiple_choice as build_multiple_choice,
)
from .models.pretraining import (
    build_pretraining_model as build_pretraining_model,
)
from .models.span_labeler import build_span_labeler as build_span_labeler
from .models.token_classifier import (
    build_token_classifier as build_token_classifier,
)
from .models.window_pooling import pool_windows as pool_windows
from .predict.beam import predict_files_with_beam as predict_files_with_beam
from .predict.predict_files import predict_files as predict_files
from .predict.predict_files import predict_lines as predict_lines
from .predict.served_model import ServedModel as ServedModel
from .pretraining.config import PretrainingConfig as PretrainingConfig
from .pretraining.read.records_to_pairs import InstanceDrawer as InstanceDrawer
from .pretraining.run import pretrain as pretrain
from .pretraining.write.beam import (
    create_pretraining_data_with_beam as create_pretraining_data_with_beam,
)
from .pretraining.write.config import (
    PretrainingDataConfig as PretrainingDataConfig,
)
from .pretraining.write.run import (
    create_pretraining_data as create_pretraining_data,
)
from .pretraining.write.source import TextSource as TextSource
from .server.config import ServerConfig as ServerConfig
from .server.run import serve as serve
from .settings import setting as setting
from .tasks import get_task as get_task
from .tasks.base import Task as Task
from .text.masking import MaskedLMMasker as MaskedLMMasker
from .text.packing import BertPreprocessor as BertPreprocessor
from .text.tokenizer import BertTokenizer as BertTokenizer
from .text.tokenizer_settings import TokenizerSettings as TokenizerSettings
from .text.vocab import SpecialTokens as SpecialTokens
from .text.vocab_learner import learn_vocab as learn_vocab
from .training.objectives import BatchObjective as BatchObjective
from .training.objectives import Objective as Objective
from .training.optimizers.adam_weight_decay import (
    AdamWeightDecay as AdamWeightDecay,
)
from .training.optimizers.lamb import Lamb as Lamb
from .training.optimizers.schedule import WarmupDecay as WarmupDecay
from .vectors.embed_files import embed_files as embed_files
from .vectors.embedder import Embedder as Embedder
from .vectors.embedder import load_embedder as load_embedder
from .vectors.evaluate_retrieval import evaluate_retrieval as evaluate_retrieval
from .vectors.extract import extract_features as extract_features
from .vectors.features_config import ExtractionConfig as ExtractionConfig
from .vectors.retrieval_config import RetrievalConfig as RetrievalConfig
from .vectors.retrieval_metrics import score_run as score_run
from .vectors.search import SearchResult as SearchResult
from .vectors.search import search as search

__version__: str

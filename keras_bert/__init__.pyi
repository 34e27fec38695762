from . import checkpoints as checkpoints
from . import export as export
from . import finetuning as finetuning
from . import kinds as kinds
from . import layers as layers
from . import models as models
from . import predict as predict
from . import pretraining as pretraining
from . import server as server
from . import tasks as tasks
from . import text as text
from . import training as training
from . import vectors as vectors
from .checkpoints.load import load_checkpoint as load_checkpoint
from .checkpoints.load_pretrained import load_pretrained as load_pretrained
from .checkpoints.load_tokenizer import load_tokenizer as load_tokenizer
from .config import BertConfig as BertConfig
from .errors import InputError as InputError
from .export.config import ExportConfig as ExportConfig
from .export.convert import convert_checkpoint as convert_checkpoint
from .finetuning.by_kind import MultiLabelClassifier as MultiLabelClassifier
from .finetuning.by_kind import QuestionAnswerer as QuestionAnswerer
from .finetuning.by_kind import TextClassifier as TextClassifier
from .finetuning.by_kind import TextEmbedder as TextEmbedder
from .finetuning.by_kind import TextRegressor as TextRegressor
from .finetuning.by_kind import TokenClassifier as TokenClassifier
from .finetuning.by_kind import load_finetuned as load_finetuned
from .finetuning.config import FinetuningConfig as FinetuningConfig
from .finetuning.run import finetune as finetune
from .finetuning.save_pretrained import save_pretrained as save_pretrained
from .predict.predict_files import predict_files as predict_files
from .predict.served_model import ServedModel as ServedModel
from .pretraining.config import PretrainingConfig as PretrainingConfig
from .pretraining.run import pretrain as pretrain
from .pretraining.write.config import (
    PretrainingDataConfig as PretrainingDataConfig,
)
from .pretraining.write.run import (
    create_pretraining_data as create_pretraining_data,
)
from .server.run import serve as serve
from .tasks.base import Task as Task
from .tasks.registry import get_task as get_task
from .text.packing import BertPreprocessor as BertPreprocessor
from .text.tokenizer import BertTokenizer as BertTokenizer
from .vectors.embed_files import embed_files as embed_files
from .vectors.embedder import load_embedder as load_embedder

__version__: str

from .config import FinetuningConfig as FinetuningConfig
from .finetuned_model import FinetunedModel as FinetunedModel
from .finetuned_model import is_finetuned as is_finetuned
from .finetuned_model import load_finetuned as load_finetuned
from .run import finetune as finetune
from .search import search_hyperparameters as search_hyperparameters

from .collection import RetrievalConfig as RetrievalConfig
from .distillation import distill as distill
from .embedder import Embedder as Embedder
from .embedder import load_embedder as load_embedder
from .exact_search import SearchResult as SearchResult
from .exact_search import search as search
from .retrieval import evaluate_retrieval as evaluate_retrieval
from .retrieval import score_run as score_run

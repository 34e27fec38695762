from .bilstm import build_bilstm_classifier as build_bilstm_classifier
from .bilstm import (
    build_bilstm_token_classifier as build_bilstm_token_classifier,
)
from .classifier import build_classifier as build_classifier
from .classifier import build_regressor as build_regressor
from .embedder import build_embedder as build_embedder
from .encoder import build_encoder as build_encoder
from .feature_tagger import build_feature_tagger as build_feature_tagger
from .hidden_states import with_hidden_states as with_hidden_states
from .multiple_choice import build_multiple_choice as build_multiple_choice
from .pretraining import build_pretraining_model as build_pretraining_model
from .span_labeler import build_span_labeler as build_span_labeler
from .token_classifier import build_token_classifier as build_token_classifier
from .window_pooling import pool_windows as pool_windows

from .beam import predict_files_with_beam as predict_files_with_beam
from .served_model import ServedModel as ServedModel

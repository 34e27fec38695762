from .beam import predict_files_with_beam as predict_files_with_beam
from .predict_files import predict_lines as predict_lines
from .served_model import ServedModel as ServedModel

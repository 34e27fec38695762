from .config import ExportConfig as ExportConfig
from .config import PretrainedExportConfig as PretrainedExportConfig
from .convert import convert_checkpoint as convert_checkpoint
from .mask_filler import fill_mask as fill_mask
from .mask_filler import load_mask_filler as load_mask_filler
from .pretrained import export_pretrained as export_pretrained

from .config import PretrainingConfig as PretrainingConfig
from .read.records_to_pairs import InstanceDrawer as InstanceDrawer
from .run import pretrain as pretrain
from .write.config import PretrainingDataConfig as PretrainingDataConfig
from .write.run import create_pretraining_data as create_pretraining_data
from .write.text_to_blocks import TextSource as TextSource

from .objectives import BatchObjective as BatchObjective
from .objectives import Objective as Objective
from .optimizers.adam_weight_decay import AdamWeightDecay as AdamWeightDecay
from .optimizers.lamb import Lamb as Lamb
from .optimizers.schedule import WarmupDecay as WarmupDecay

from .objectives import BatchObjective as BatchObjective
from .objectives import Objective as Objective
from .optimizers.adam import AdamWeightDecay as AdamWeightDecay
from .optimizers.adam import Lamb as Lamb
from .optimizers.adam import WarmupDecay as WarmupDecay

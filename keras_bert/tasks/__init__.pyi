from .base import Task as Task
from .registry import get_task as get_task

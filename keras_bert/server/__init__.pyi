from .config import ServerConfig as ServerConfig
from .run import serve as serve

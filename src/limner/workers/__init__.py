"""Workers: killable processes for everything that may crash, hang or lie, one kind for all who need them."""

from .environment import environment
from .pool import Pool, once, pool_of
from .recipe import Answer, Died, Failed, Recipe, Unfit, cores

__all__ = ["Answer", "Died", "Failed", "Pool", "Recipe", "Unfit", "cores", "environment", "once", "pool_of"]

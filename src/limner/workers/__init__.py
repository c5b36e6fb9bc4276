"""Workers: killable processes for everything that may crash, hang or lie, one kind for all who need them."""

from .pool import Pool, once, pool_of
from .process import hosts
from .recipe import JobFailure, JobResult, Recipe, WorkerDeath, WorkerLost, WorkerUnfit, cores, environment

from tests.painters.studio import make as make
from tests.painters.studio import servers as servers

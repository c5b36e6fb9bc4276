"""The browser of the site's tests, for servers too."""

from tests.site.conftest import chromium as chromium

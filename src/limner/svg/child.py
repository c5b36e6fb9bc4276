"""Renders one picture in a process of its own, within limits it sets itself. Run as a script, never imported.

The first line on the standard input is JSON, the rest is the SVG. The PNG comes out on the standard output; exit
code 3 means that the renderer refused, and why stands on the standard error.
"""

import json
import sys


def main() -> int:
    """Read, limit, render, write."""
    task = json.loads(sys.stdin.buffer.readline())
    svg = sys.stdin.buffer.read().decode()
    try:
        import resource
    except ImportError:  # Windows: the parent's clock is the only limit there.
        pass
    else:
        for what, most in ((resource.RLIMIT_AS, task["memory"]), (resource.RLIMIT_CPU, task["seconds"])):
            hard = resource.getrlimit(what)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            # One second more until it is killed: before that comes a signal that tells what went wrong.
            resource.setrlimit(what, (most, most + 1 if hard == resource.RLIM_INFINITY else min(most + 1, hard)))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.path.insert(0, task["library"])
    import resvg_py

    try:
        png = resvg_py.svg_to_bytes(svg_string=svg, **task["options"])
    except ValueError as error:
        sys.stderr.write(str(error))
        return 3
    sys.stdout.buffer.write(png)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""FastMCP's proxy as a gateway: Streamable HTTP in, one upstream behind.

Usage: proxy.py PORT URL, or proxy.py PORT COMMAND [ARGUMENT ...] for an upstream over stdio.
"""

import sys

from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

port, upstream, *arguments = sys.argv[1:]
target = upstream if upstream.startswith("http://") else StdioTransport(upstream, arguments)
proxy = create_proxy(target, name="fastmcp-proxy")
proxy.run(
    transport="http",
    host="127.0.0.1",
    port=int(port),
    path="/mcp",
    show_banner=False,
    log_level="error",
    # The driver's connections wait while other programs have their turn; by default they would be closed.
    uvicorn_config={"timeout_keep_alive": 600},
)

"""What an operator sees: figures as Prometheus reads them, spans as OpenTelemetry defines them, health."""

import asyncio
import json
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.dont_write_bytecode = True  # The checkout stays as it is.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from google.protobuf import json_format  # noqa: E402 (found only by the line above)
from harness import FOLDER, check, configure, run, target  # noqa: E402
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: E402
from prometheus_client.openmetrics.parser import text_string_to_metric_families  # noqa: E402

#: An upstream that answers every call with the `_meta` it was sent.
TELLS_META = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "m", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "meta", "description": "Tells", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": json.dumps(params.get("_meta", {}))}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": method}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""

TRACE = "0af7651916cd43dd8448eb211c80319c"
ABOVE = "b7ad6b7169203331"


class Collector(BaseHTTPRequestHandler):
    """Takes spans in as a collector does; the first request is put off, as by one that is busy."""

    taken = []
    put_off = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        busy = Collector.put_off == 0
        Collector.put_off += 1
        if not busy:
            Collector.taken.append((self.path, self.headers["content-type"], body))
        self.send_response(503 if busy else 200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def _spans():
    return [
        span
        for _, _, body in Collector.taken
        for resource in json.loads(body)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def _get(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.headers.get("content-type"), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("content-type"), error.read().decode()


def _call(url, tool, arguments, meta=None):
    params = {"name": tool, "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        **(meta or {}),
    }}  # fmt: skip
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool,
    }  # fmt: skip
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


async def _until(holds, what):
    for _ in range(1_000):
        if holds():
            return
        await asyncio.sleep(0.02)
    check(False, what, Collector.taken)


def _parts(url):
    base = url.removesuffix("/mcp")

    async def healthy_and_ready():
        for path in ["/health", "/healthz", "/ready", "/readyz"]:
            status, _, text = await asyncio.to_thread(_get, base + path)
            check(json.loads(text)["status"] == "ok", f"{path} to be good", (status, text))

    async def a_trace_goes_on_through_the_gate():
        meta = {"traceparent": f"00-{TRACE}-{ABOVE}-01", "tracestate": "a=b"}
        came = await asyncio.to_thread(_call, url, "tells_meta", {}, meta)
        told = json.loads(came["result"]["content"][0]["text"])
        check(told["traceparent"].startswith(f"00-{TRACE}-"), "the same trace at the upstream", told)
        check(ABOVE not in told["traceparent"], "our span above the upstream's", told)
        check(told["tracestate"] == "a=b", "the state of the trace as it was", told)
        await _until(lambda: any(span["traceId"] == TRACE for span in _spans()), "spans of the trace")
        spans = [span for span in _spans() if span["traceId"] == TRACE]
        (root,) = [span for span in spans if span.get("parentSpanId") == ABOVE]
        check(root["spanId"] in told["traceparent"], "the upstream below our span", (root, told))
        names = [span["name"] for span in spans if span.get("parentSpanId") == root["spanId"]]
        for step in ["scope", "policy", "input_schema", "rate", "run", "clean"]:
            check(step in names, f"a span for {step}", names)
        check(len({span["spanId"] for span in spans}) == len(spans), "ids of their own", spans)

    async def what_is_sent_is_otlp():
        for path, kind, body in Collector.taken:
            check((path, kind) == ("/v1/traces", "application/json"), "the path and the type", (path, kind))
            json_format.Parse(body, ExportTraceServiceRequest())
        check(len(Collector.taken) > 0, "requests", Collector.taken)

    async def figures_are_openmetrics():
        await asyncio.to_thread(_call, url, "workspace_read", {"path": "nowhere.txt"})
        await asyncio.to_thread(_call, url, "workspace_read", {"path": 5})
        await asyncio.to_thread(_call, url, "no_such_tool_with_a_secret_name", {})
        status, kind, text = await asyncio.to_thread(_get, base + "/metrics")
        check(
            status == 200 and kind.startswith("application/openmetrics-text"), "OpenMetrics", (status, kind)
        )
        families = {family.name: family for family in text_string_to_metric_families(text)}
        samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families.values()
            for sample in family.samples
        }
        calls = lambda tool, outcome: samples.get(
            ("toolcrib_calls_total", (("outcome", outcome), ("tool", tool)))
        )
        check(calls("tells_meta", "result") == 1, "one call of tells_meta", text)
        check(calls("workspace_read", "tool_error") == 1, "a tool that failed", text)
        check(calls("workspace_read", "refused") == 1, "a refused call", text)
        check(calls("other", "refused") == 1, "an unknown tool under no name of its own", text)
        refused = ("toolcrib_refusals_total", (("check", "input_schema"), ("code", "invalid_arguments")))
        check(samples.get(refused) == 1, "the check that refused", text)
        state = ("toolcrib_upstream_state", (("state", "connected"), ("upstream", "tells")))
        check(samples.get(state) == 1, "the upstream connected", text)
        check("no_such_tool" not in text, "no word of a caller's in a label", text)

    return [
        healthy_and_ready,
        a_trace_goes_on_through_the_gate,
        what_is_sent_is_otlp,
        figures_are_openmetrics,
    ]


async def _main():
    collector = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    server = FOLDER / "tells.py"
    server.write_text(TELLS_META)
    endpoint = f"http://127.0.0.1:{collector.server_port}/v1/traces"
    upstreams = {"tells": {"command": sys.executable, "args": [str(server)]}}
    config = configure("crib", upstreams, f'[telemetry.traces]\nendpoint = "{endpoint}"')
    async with target("http", config) as url:
        faults = await run(_parts(url))
    collector.shutdown()
    return faults


sys.exit(1 if asyncio.run(_main()) else 0)

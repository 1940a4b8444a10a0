"""Ask a scoring service over HTTP, as any language can (needs `pip install 'learnedgec[serve]'`).

The service runs in this script to keep it whole; you would start `learnedgec serve --metric gleu` elsewhere.
"""

import json
import socket
import threading
from urllib.request import Request, urlopen

import uvicorn

from learnedgec import load_metric
from learnedgec.applications.serve import application

with socket.create_server(("127.0.0.1", 0)) as listening:  # 0 takes a free port
    app = application([load_metric("gleu"), load_metric("edit-count")])
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    body = {
        "metrics": ["gleu", "edit-count"],
        "sources": ["He go home .", "She like tea ."],
        "hypotheses": ["He goes home .", "She like tea ."],
        "references": [["He goes home ."], ["She likes tea ."]],
    }
    request = Request(
        f"{address}/score", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=30) as answer:
        scores = json.load(answer)["scores"]
    server.should_exit = True
    thread.join()

for name, score in scores.items():
    print(f"{name}: {score['score']:.3f} ({score['signature']})")

"""Ask a scoring service over HTTP, as any language can (needs `pip install 'learnedgec[serve]'`).

The service runs in this script to keep it whole; you would start `learnedgec serve --metric gleu` elsewhere.
"""

import threading

import requests
import uvicorn

from learnedgec import load_metric
from learnedgec.use.serve import application, listen

with listen("127.0.0.1", 0) as listening:  # 0 takes a free port
    app = application([load_metric("gleu"), load_metric("edit-count")])
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    answer = requests.post(
        f"{address}/score",
        json={
            "metrics": ["gleu", "edit-count"],
            "sources": ["He go home .", "She like tea ."],
            "hypotheses": ["He goes home .", "She like tea ."],
            "references": [["He goes home ."], ["She likes tea ."]],
        },
        timeout=30,
    )
    server.should_exit = True
    thread.join()

for name, found in answer.json()["scores"].items():
    print(f"{name}: {found['score']:.3f} ({found['signature']})")

"""Open WebUI: its server, asked as its page asks it, by the person that it has without accounts."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import requests

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
base = f"http://127.0.0.1:{port}"
command = Path(sys.executable).with_name("open-webui")
server = subprocess.Popen([command, "serve", "--host", "127.0.0.1", "--port", port])
try:
    for _ in range(600):
        try:
            if requests.get(f"{base}/health", timeout=5).ok:
                break
        except requests.ConnectionError:
            time.sleep(0.2)
    person = requests.post(f"{base}/api/v1/auths/signin", json={"email": "", "password": ""})
    answer = requests.post(
        f"{base}/api/chat/completions",
        headers={"Authorization": f"Bearer {person.json()['token']}"},
        json={
            "model": os.environ["MODEL"],
            "messages": [{"role": "user", "content": sys.argv[1]}],
        },
    )
    print(answer.text)
finally:
    server.terminate()

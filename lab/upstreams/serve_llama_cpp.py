"""llama.cpp's own HTTP server, as the pip package xllamacpp brings it.

usage: serve_llama_cpp.py MODEL PORT
"""

import signal
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"noise"}
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.n_parallel = 4
params.n_ctx = 4 * 1024
# Two threads that wait for each other on a busy machine are a hundred times slower than one.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.embedding = True
params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
server = xllamacpp.Server(params)
print(f"listening on {server.listening_address}", flush=True)
signal.pause()

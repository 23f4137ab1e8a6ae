import { join } from 'node:path';

/** What the model is called at every server. */
const MODEL = 'noise';

/** How a real model server is had and started. */
export interface ServerKind {
  /** Also the name of its folder of recorded answers. */
  name: string;
  title: string;
  /** Packages with their exact versions, the server's own first. */
  packages: readonly string[];
  /** What is made from these packages takes a compiler and minutes; it is made when asked for, and then kept. */
  compiled?: true;
  start(where: Where): Command;
  /** Asked until it answers 200. */
  readyPath: string;
  /** What the server calls the model. */
  model(models: string): string;
  /** Wanted in Authorization, if the server checks any. */
  apiKey?: string;
  /** It makes a call of a tool for `tool_choice: "required"` only in part; a tool that is named is called. */
  namesTool?: true;
  /** What an operator should know of it, for the page. */
  notes: readonly string[];
  /** Tokens of the last request, prompt and answer, by the server's own log. */
  tokensInLog?: (log: string) => number | undefined;
  /** What the server logs when it gives a request up. */
  stoppedInLog?: RegExp;
  /** Another server that must run: this one is a proxy. */
  behind?: string;
}

interface Where {
  /** The folder of made models: noise.gguf, and noise/ for transformers. */
  models: string;
  /** A folder of this run. */
  scratch: string;
  port: number;
  /** Base URL of the server behind it, ending in /v1. */
  behindUrl: string;
}

interface Command {
  /** Arguments of the Python that has the packages. */
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Files to write into the scratch folder before. */
  files?: Readonly<Record<string, string>>;
}

export const SERVERS: readonly ServerKind[] = [
  {
    name: 'llama-cpp',
    title: "llama.cpp's server",
    notes: [
      'It answers to any model name, so a wrong one is not refused. The probe says which it lists.',
      'It answers 500 to an image for a text model. The caller gets `unsupported_modality`, because the words say so, and the endpoint is not cut off for it.',
      'It divides `--ctx-size` by `--parallel`. Declare the quotient as `context_window`.',
    ],
    packages: ['xllamacpp==2026.10.11549'],
    start: ({ models, port }) => ({
      args: [
        join(import.meta.dirname, 'serve_llama_cpp.py'),
        join(models, 'noise.gguf'),
        `${port}`,
      ],
    }),
    readyPath: '/v1/models',
    model: () => MODEL,
    // What its cache holds: the last token is not evaluated any more.
    tokensInLog: (log) => plus(/stop processing: n_tokens = (\d+)/.exec(log)?.[1], 1),
    stoppedInLog: /cancel task/,
  },
  {
    name: 'llama-cpp-python',
    title: 'llama-cpp-python',
    notes: [
      'It answers 400 to a request whose `x-request-id` is no UUID. Docket sends it one: the same 128 bits as in `req_…`.',
      'It runs one request at a time. By default (`interrupt_requests`) the next one ends the stream before it, with `[DONE]` and without a finish reason. Such a stream is `truncated`, its caller gets an error frame, and its endpoint a failure. Set `--interrupt_requests false` to let requests wait instead.',
      'Its streams report no usage. The gateway counts, and the receipt says so.',
    ],
    packages: ['llama-cpp-python[server]==0.3.36'],
    compiled: true,
    start: ({ models, port }) => ({
      args: [
        '-m',
        'llama_cpp.server',
        ...flags({
          host: '127.0.0.1',
          port,
          model: join(models, 'noise.gguf'),
          model_alias: MODEL,
          n_ctx: 1024,
          n_threads: 1,
          n_threads_batch: 1,
          embedding: true,
        }),
      ],
    }),
    readyPath: '/v1/models',
    model: () => MODEL,
    namesTool: true,
    tokensInLog: (log) => {
      const [, hit = '0'] = /(\d+) prefix-match hit/.exec(log) ?? [];
      const evaluated = /prompt eval time = .*\/ +(\d+) tokens/.exec(log)?.[1];
      const runs = /  eval time = .*\/ +(\d+) runs/.exec(log)?.[1];
      return runs === undefined ? undefined : plus(evaluated, Number(hit) + Number(runs) + 1);
    },
  },
  {
    name: 'transformers',
    title: 'transformers serve',
    notes: [
      'A model is named by a path, or by a name of its hub, which it downloads when it is asked for.',
      'It answers 500 to `GET /models` without its hub. Docket concludes nothing from that: an answered request closes a circuit.',
    ],
    packages: ['transformers[serving]==5.23.0', 'torch==2.15.0'],
    start: ({ port }) => ({
      args: [
        '-m',
        'transformers.cli.transformers',
        'serve',
        ...flags({ host: '127.0.0.1', port, device: 'cpu' }),
      ],
      env: { HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    }),
    readyPath: '/health',
    model: (models) => join(models, 'noise'),
  },
  {
    name: 'litellm',
    title: 'LiteLLM proxy',
    notes: [
      'It translates the errors of the server behind it. Docket goes by their words.',
      'It refuses a wrong model name with 400. Docket takes that for a mistake of the catalogue, not of the caller.',
    ],
    packages: ['litellm[proxy]==1.105.0'],
    start: ({ port, scratch, behindUrl }) => ({
      args: [
        '-c',
        'from litellm import run_server; run_server()',
        ...flags({ config: join(scratch, 'litellm.yaml'), host: '127.0.0.1', port }),
      ],
      env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_TELEMETRY: 'False', NO_DOCS: 'True' },
      files: {
        'litellm.yaml': [
          'model_list:',
          `  - model_name: ${MODEL}`,
          `    litellm_params: { model: openai/${MODEL}, api_base: ${behindUrl}, api_key: none }`,
          'general_settings: { master_key: sk-of-the-suite }',
          '',
        ].join('\n'),
      },
    }),
    readyPath: '/health/liveliness',
    model: () => MODEL,
    apiKey: 'sk-of-the-suite',
    behind: 'llama-cpp',
  },
];

function flags(values: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

function plus(digits: string | undefined, more: number): number | undefined {
  return digits === undefined ? undefined : Number(digits) + more;
}

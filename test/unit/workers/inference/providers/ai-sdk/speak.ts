import { afterAll, beforeAll, beforeEach } from 'vitest';
import { AiSdkProvider } from '#workers/inference/providers/ai-sdk/provider.ts';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { Dialect } from '#shared/kernel/inference.ts';
import type { UpstreamFailure } from '#workers/inference/providers/upstream-failure.ts';
import type { UpstreamCall } from '#workers/inference/providers/provider.ts';
import type { Pace } from '#workers/inference/stream-pace.ts';
import { NativeUpstream } from '#test/support/native-upstream.ts';
import { endpoint } from '#test/unit/catalogue/routed-catalogue.ts';

export type Native = 'anthropic' | 'google';

export interface Outcome {
  answer?: string;
  payloads: string[];
  clean?: boolean;
  failure?: UpstreamFailure;
}

export interface CallOptions {
  route?: Dialect;
  timeoutMs?: number;
  onPayload?: (call: UpstreamCall) => void;
  pace?: Pace;
  /** In place of the file's own upstream. */
  baseUrl?: string;
  /** In place of the one that this file makes. */
  endpoint?: Endpoint;
}

const SECRETS = new Map([
  ['KEY', 'sk-test'],
  ['OTHER_KEY', 'sk-other'],
]);
const PATHS: Record<Native, string> = { anthropic: '/v1/', google: '/v1beta' };

export const MESSAGES = [{ role: 'user', content: 'How fast does the lamp turn?' }];
export const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
];

/** A provider that speaks to an upstream of the file's own. */
export function speakNatively() {
  const upstream = new NativeUpstream();
  const provider = new AiSdkProvider((name) => SECRETS.get(name));
  let origin = '';
  beforeAll(async () => {
    origin = await upstream.listen();
  });
  afterAll(() => upstream.close());
  beforeEach(() => {
    upstream.aborted = 0;
  });
  const endpointOf = (native: Native, baseUrl = `${origin}${PATHS[native]}`): Endpoint =>
    endpoint(`${native} ${baseUrl}`, ['eu'], {
      adapter: 'ai-sdk',
      provider: native,
      apiKeyEnv: 'KEY',
      baseUrl,
    });

  /** One call to its end. */
  const call = (native: Native, body: object, options: CallOptions = {}): Promise<Outcome> => {
    const {
      route = 'chat.completions',
      timeoutMs = 5_000,
      onPayload,
      pace,
      baseUrl,
      endpoint: over,
    } = options;
    return new Promise((resolve) => {
      const payloads: string[] = [];
      const running = provider.call(
        {
          requestId: 'req_01K5Y0V8Z3M4N5P6Q7R8S9T0AB',
          route,
          endpoint: over ?? endpointOf(native, baseUrl),
          body: JSON.stringify({ model: 'the-model', messages: MESSAGES, ...body }),
          stream: 'stream' in body,
          timeouts: {
            headersMs: timeoutMs,
            firstByteMs: timeoutMs,
            betweenBytesMs: timeoutMs,
            totalMs: 60_000,
          },
          ...(pace === undefined ? {} : { pace }),
          traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        },
        {
          onAnswer: (answer) => resolve({ answer, payloads }),
          onPayload: (text) => {
            payloads.push(text);
            onPayload?.(running);
          },
          onEnd: (clean) => resolve({ clean, payloads }),
          onFailure: (failure) => resolve({ failure, payloads }),
        },
      );
    });
  };
  return { upstream, provider, call, endpointOf };
}

export interface Chunk {
  id: string;
  created: number;
  object: string;
  model: string;
  choices: { index: number; delta: Record<string, unknown>; finish_reason: string | null }[];
  usage?: object;
}

export const chunksOf = ({ payloads }: Outcome): Chunk[] =>
  payloads.map((text) => JSON.parse(text) as Chunk);

/** A field of all deltas, put together. */
export const joined = (chunks: readonly Chunk[], field: string): string =>
  chunks.map(({ choices }) => (choices[0]?.delta[field] ?? '') as string).join('');

import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PROVIDERS } from '#embedded/providers/table.ts';
import { NotingUpstream } from '#test/support/noting-upstream.ts';
import { STAND_INS, startStandIns, type StandIns } from '#test/support/provider-stand-ins.ts';
import { START_MS, startLauncher, stopLaunchers } from './start-launcher.ts';

afterEach(stopLaunchers);

/** Ollama's, or vLLM's, on this machine. */
class LocalServer extends NotingUpstream {
  protected override answerTo({ model }: Record<string, unknown>, response: ServerResponse): void {
    const message = { role: 'assistant', content: 'It turns.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
    const answer = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model,
      choices,
      usage,
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }
}

const SECRET = 'hush-4711';
const keys = Object.fromEntries(
  PROVIDERS.flatMap(({ keyVariable, name }) =>
    keyVariable === undefined ? [] : [[keyVariable, `sk-${name}-${SECRET}`]],
  ),
);
let dataDir: string;
let standIns: StandIns;
const [ollama, vllm] = [new LocalServer(), new LocalServer()];
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'docket-providers-'));
  standIns = await startStandIns();
  ollama.list.text = '{"object":"list","data":[{"id":"llama3.1:8b","owned_by":"library"}]}';
  vllm.list.text = '{"object":"list","data":[{"id":"Qwen/Qwen3-30B-A3B","max_model_len":40960}]}';
});
afterAll(async () => {
  ollama.close();
  vllm.close();
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

/** Files of a process’s life that others of this machine see, or that stay: what it was started with, what it wrote. */
function textsIn(directory: string): string {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(json|yaml|log)$/.test(entry.name))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');
}

describe('npm start with keys of providers in the environment', { timeout: 3 * START_MS }, () => {
  it('lists and runs their models, each at its documented address, and shows none of the keys', async () => {
    const launcher = startLauncher(
      dataDir,
      {
        ...standIns.env,
        ...keys,
        AZURE_API_BASE: 'https://acme.openai.azure.com',
        OLLAMA_BASE_URL: await ollama.listen(),
        VLLM_BASE_URL: `${await vllm.listen()}/v1`,
      },
      { realRoles: true, fileByFile: true },
    );
    await launcher.said(/curl http/);
    const { title: first } = PROVIDERS[0]!;
    expect(launcher.output()).toMatch(
      new RegExp(`providers +${first}, 2 models \\(OPENAI_API_KEY\\)`),
    );
    for (const { title } of PROVIDERS) expect(launcher.output()).toContain(`${title}, `);
    expect(launcher.output()).toContain('OLLAMA_BASE_URL has no version: /v1 is added');

    const { base_url: baseURL, api_key: apiKey, keys: demo, processes } = await launcher.devFile();
    const openai = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
    const listed = (await openai.models.list()).data.map(({ id }) => id);
    const offered = [
      'gpt-4o-mini',
      'claude-sonnet-4-5-20250929',
      'gemini-2.5-flash',
      'mistral-small-2506',
      'llama-3.3-70b-versatile',
      'deepseek-chat',
      'anthropic/claude-sonnet-4.5',
      'gpt-4.1',
      'llama3.1:8b',
      'Qwen/Qwen3-30B-A3B',
    ];
    expect(listed).toEqual(expect.arrayContaining(['llama-3.1-8b', ...offered]));
    for (const gone of ['whisper-1', 'aqa', 'acme/painter']) expect(listed).not.toContain(gone);

    for (const model of ['llama-3.1-8b', ...offered]) {
      const { data, response } = await openai.chat.completions
        .create({ model, messages: [{ role: 'user', content: 'Does it turn?' }] })
        .withResponse();
      expect(data.choices[0]!.message.content).not.toBe('');
      expect(data).toHaveProperty('receipt.measurement.result');
      expect(response.headers.get('x-ratelimit-limit-requests-day')).toBe('200');
    }
    for (const [host, { key, chat, list }] of Object.entries(STAND_INS)) {
      const row = PROVIDERS.find(({ baseUrl, name }) =>
        host.includes('azure') ? name === 'azure' : baseUrl?.includes(`//${host}/`),
      )!;
      const [, credential] = key(keys[row.keyVariable!]!);
      expect(standIns.calls).toContain(`${host} ${list[0]} ${credential}`);
      expect(standIns.calls).toContain(`${host} ${chat[0]} ${credential}`);
    }
    expect(ollama.last.body['model']).toBe('llama3.1:8b');

    // The demo organisations without a budget of their own do not get at what costs money.
    const other = new OpenAI({ baseURL, apiKey: demo.audit, maxRetries: 0 });
    const ids = (await other.models.list()).data.map(({ id }) => id);
    expect(ids).toContain('llama-3.1-8b');
    expect(ids).not.toContain('gpt-4o-mini');

    const shown = [launcher.output(), textsIn(dataDir)].join('\n');
    expect(shown).toContain('api.anthropic.com');
    expect(shown).not.toContain(SECRET);
    for (const { pid, role } of processes) {
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(SECRET);
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      expect(`${role} ${environment.includes(SECRET)}`).toBe(`${role} ${role === 'inference'}`);
    }
  });
});

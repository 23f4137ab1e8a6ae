/** opencode, an agent that writes programs: it is run as its user runs it, and says in lines of JSON what it does. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';

const environment = readEnvironment();
const [BASE_URL, API_KEY] = [environment['DOCKET_BASE_URL']!, environment['DOCKET_API_KEY']!];
const OPENCODE = join(environment['DOCKET_CLIENT_PROGRAMS']!, 'opencode');
const MODEL = 'qwen3-30b-a3b';
/** Two of them, with what it says of itself, are over the window of the model. */
const HALF_A_WINDOW = 'sea '.repeat(14_000);
/** It starts in some seconds; on a machine with much to do, in thirty. */
const TURN_MS = 90_000;

// snippet
// opencode.json
const config = {
  provider: {
    docket: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Docket',
      options: { baseURL: BASE_URL, apiKey: API_KEY },
      models: {
        // More than the window of the model: so the service says when a conversation is over it, and opencode shortens it then.
        'qwen3-30b-a3b': { limit: { context: 200_000, output: 1_000 } },
      },
    },
  },
};

// It shows no id: receipts stand in the dashboard, and in the list by model and time.
const receipts = async (limit: number): Promise<Receipt[]> => {
  const list = await fetch(`${BASE_URL}/receipts?model=${MODEL}&limit=${limit}`, {
    headers: { Authorization: `Bearer ${API_KEY}` },
  });
  return ((await list.json()) as { data: Receipt[] }).data;
};
// end

interface Receipt {
  credentialSubject: { inputTokens: number; outputTokens: number };
}

/** What it says of a turn. */
interface Said {
  type: 'text' | 'tool_use' | 'step_finish' | 'error' | 'step_start';
  part?: { text?: string; tool?: string; tokens?: { input: number; output: number } };
  error?: { name: string; data: { message: string; statusCode?: number } };
}

const home = await mkdtemp(join(tmpdir(), 'docket-opencode-'));
const work = join(home, 'work');
try {
  await mkdir(work);
  await writeFile(join(work, 'opencode.json'), JSON.stringify(config));
  const told = await turn('Tell me about the lighthouse.');
  await check('stream', async () => {
    expect(told.find(({ type }) => type === 'text')?.part?.text, 'no text');
  });
  await check('counts', async () => {
    const { inputTokens, outputTokens } = (await receipts(1))[0]!.credentialSubject;
    const receipt = `${inputTokens} and ${outputTokens}`;
    const client = told.flatMap(tokensIn).join();
    expect(client === receipt, `client ${client}, receipt ${receipt}`);
  });
  await check('receipt of a stream', async () => (await receipts(1))[0]);
  await check('tools', async () => {
    const said = await turn('Please todowrite what is to be done.');
    expect(
      said.some(({ part }) => part?.tool === 'todowrite'),
      'not called',
    );
    expect(said.at(-1)?.type === 'step_finish' && stepsIn(said) === 2, 'not gone on');
  });
  await check('errors', async () => {
    const wrong = { provider: { docket: { options: { apiKey: 'nonsense' } } } };
    const [said] = await turn('Hello.', { config: wrong });
    expect(said?.error?.data.statusCode === 401, JSON.stringify(said));
  });
  await check('over the window', async () => {
    await turn(HALF_A_WINDOW);
    const said = await turn(HALF_A_WINDOW, { goesOn: true });
    const at = said.findIndex(({ error }) => error?.name === 'ContextOverflowError');
    expect(at !== -1, 'not over the window');
    // It asks for a shorter conversation, and then for the answer.
    expect(said.at(-1)?.type === 'step_finish' && stepsIn(said.slice(at)) === 2, 'not shortened');
  });
} finally {
  await rm(home, { recursive: true, force: true });
}

/** One turn of a conversation. */
async function turn(
  words: string,
  { goesOn = false, config: more = {} }: { goesOn?: boolean; config?: object } = {},
): Promise<Said[]> {
  // A conversation without a title would be asked for one.
  const conversation = goesOn ? ['--continue'] : ['--title', 'A conversation'];
  const args = ['run', '--format', 'json', '--model', `docket/${MODEL}`, ...conversation];
  const kept = { autoupdate: false, share: 'disabled', snapshot: false, ...more };
  const running = promisify(execFile)(OPENCODE, args, {
    cwd: work,
    env: {
      ...environment,
      // Where it works, and where it keeps what it knows.
      PWD: work,
      HOME: home,
      XDG_CONFIG_HOME: join(home, 'config'),
      XDG_DATA_HOME: join(home, 'data'),
      XDG_CACHE_HOME: join(home, 'cache'),
      XDG_STATE_HOME: join(home, 'state'),
      OPENCODE_CONFIG_CONTENT: JSON.stringify(kept),
      // It would ask elsewhere what models there are.
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    },
    timeout: TURN_MS,
  });
  running.child.stdin!.end(words);
  const { stdout } = await running.catch((error: Error & { stdout: string }) => error);
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Said);
}

function tokensIn({ part }: Said): string[] {
  const { tokens } = part ?? {};
  return tokens === undefined ? [] : [`${tokens.input} and ${tokens.output}`];
}

function stepsIn(said: readonly Said[]): number {
  return said.flatMap(tokensIn).length;
}

function expect(holds: unknown, what: string): void {
  if (holds === undefined || holds === false) throw new Error(what);
}

async function check(name: string, ask: () => Promise<object | void>): Promise<void> {
  const found = await ask().then(
    (receipt) => ({ verdict: 'works', ...(receipt === undefined ? {} : { receipt }) }),
    (error: Error) => ({ verdict: 'fails', words: error.message.slice(0, 300) }),
  );
  process.stdout.write(`${JSON.stringify({ check: name, ...found })}\n`);
}

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '#shared/config/config.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** Where a program asks, with what, and where it works. */
export interface Setting {
  /** With `/v1`. */
  baseUrl: string;
  /** Without. */
  root: string;
  apiKey: string;
  model: string;
  /** What it may write into. */
  work: string;
  /** A folder of its own for what it knows. */
  home: string;
  /** Where npm or pip has put its command. */
  bin: string;
  /** Whether the prompt belongs to the conversation before, for programs that keep it. */
  goesOn: boolean;
}

/** What is asked of each program, in this order. */
export const STEPS = [
  'first request',
  'three steps',
  'silence of 50 s',
  'broken answer',
  'receipts',
  'too many a second',
  'long session',
  'over its limit',
] as const;
export type Step = (typeof STEPS)[number];

interface Command {
  file: string;
  args: readonly string[];
  env: Environment;
}

/** A program that people put before a model, and how its user says where that is: address, key and model, nothing else. */
export interface Program {
  name: string;
  /** `own`: this repository has it already. */
  source: 'npm' | 'pip' | 'own';
  version: string;
  /** Packages beside it that its own documentation asks for. */
  beside?: readonly string[];
  /** Which interface it speaks. */
  route: 'chat' | 'messages' | 'responses';
  /** Whether it runs tools, and so can write a file. */
  hasTools: boolean;
  /** Where its user has the receipt of an answer, where it hands one over; else by the key, from Docket. */
  receipt?: string;
  /** The name by which it is told of the model, where it has names built in: an alias in the catalogue. */
  knows?: string;
  /** Why a step does not work, where that is known. */
  why?: Partial<Record<Step, string>>;
  /** Whether it can go on with a conversation without a terminal. */
  goesOn?: true;
  /** Writes what it is configured by, and says how one prompt is given to it. */
  command: (setting: Setting, prompt: string) => Promise<Command>;
}

const SCRIPTS = join(import.meta.dirname, 'scripts');
const OWN = packageJson.devDependencies;

const openai = ({ baseUrl, apiKey }: Setting): Environment => ({
  OPENAI_BASE_URL: baseUrl,
  OPENAI_API_KEY: apiKey,
});
const anthropic = ({ root, apiKey }: Setting): Environment => ({
  ANTHROPIC_BASE_URL: root,
  ANTHROPIC_API_KEY: apiKey,
});

/** A library, in a script that runs an agent with it. The variables are those that the library reads itself. */
function scripted(
  args: readonly [script: string, ...more: string[]],
  variables: (setting: Setting) => Environment,
): Program['command'] {
  const [script, ...more] = args;
  return async (setting, prompt) => ({
    file: script.endsWith('.ts') ? process.execPath : join(setting.bin, 'python'),
    args: [join(SCRIPTS, script), ...more, prompt],
    env: { MODEL: setting.model, PYTHONDONTWRITEBYTECODE: '1', ...variables(setting) },
  });
}

export const PROGRAMS: readonly Program[] = [
  {
    name: '@anthropic-ai/claude-code',
    source: 'npm',
    version: '2.1.332',
    route: 'messages',
    hasTools: true,
    goesOn: true,
    command: async ({ root, apiKey, model, bin, goesOn }, prompt) => ({
      file: join(bin, 'claude'),
      args: [
        ...(goesOn ? ['--continue'] : []),
        '-p',
        prompt,
        '--allowedTools',
        'Write',
        'Read',
        'Bash',
      ],
      env: {
        ANTHROPIC_BASE_URL: root,
        ANTHROPIC_API_KEY: apiKey,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_SMALL_FAST_MODEL: model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    }),
  },
  {
    name: '@openai/codex',
    source: 'npm',
    version: '0.171.0',
    knows: 'gpt-5.5',
    route: 'responses',
    hasTools: true,
    goesOn: true,
    command: async ({ baseUrl, apiKey, model, home, work, bin, goesOn }, prompt) => {
      const folder = join(home, '.codex');
      await mkdir(folder, { recursive: true });
      const config = `model = "${model}"
model_provider = "docket"

[model_providers.docket]
name = "Docket"
base_url = "${baseUrl}"
env_key = "DOCKET_API_KEY"
wire_api = "responses"

[analytics]
enabled = false
`;
      await writeFile(join(folder, 'config.toml'), config);
      return {
        file: join(bin, 'codex'),
        args: [
          'exec',
          '--skip-git-repo-check',
          '--dangerously-bypass-approvals-and-sandbox',
          '-C',
          work,
          ...(goesOn ? ['resume', '--last'] : []),
          prompt,
        ],
        env: { DOCKET_API_KEY: apiKey },
      };
    },
  },
  {
    name: '@qwen-code/qwen-code',
    source: 'npm',
    version: '0.24.4',
    route: 'chat',
    hasTools: true,
    goesOn: true,
    command: async (setting, prompt) => {
      const { model, home, bin, goesOn } = setting;
      const folder = join(home, '.qwen');
      await mkdir(folder, { recursive: true });
      const privacy = { usageStatisticsEnabled: false };
      await writeFile(join(folder, 'settings.json'), JSON.stringify({ privacy }));
      return {
        file: join(bin, 'qwen'),
        args: [...(goesOn ? ['--continue'] : []), '-p', prompt, '--yolo', '--auth-type', 'openai'],
        env: { ...openai(setting), OPENAI_MODEL: model },
      };
    },
  },
  {
    name: 'opencode-ai',
    source: 'npm',
    version: '1.18.33',
    route: 'chat',
    hasTools: true,
    goesOn: true,
    command: async ({ baseUrl, apiKey, model, work, home, bin, goesOn }, prompt) => {
      const options = { baseURL: baseUrl, apiKey };
      const docket = {
        npm: '@ai-sdk/openai-compatible',
        name: 'Docket',
        options,
        models: { [model]: { limit: { context: 100_000, output: 1_000 } } },
      };
      await writeFile(join(work, 'opencode.json'), JSON.stringify({ provider: { docket } }));
      return {
        file: join(bin, 'opencode'),
        args: ['run', ...(goesOn ? ['--continue'] : []), '--model', `docket/${model}`, prompt],
        env: {
          OPENCODE_CONFIG_CONTENT: JSON.stringify({ autoupdate: false, share: 'disabled' }),
          OPENCODE_DISABLE_MODELS_FETCH: '1',
          XDG_DATA_HOME: join(home, 'data'),
        },
      };
    },
  },
  {
    name: '@continuedev/cli',
    source: 'npm',
    version: '1.5.47',
    route: 'chat',
    hasTools: true,
    goesOn: true,
    why: {
      'over its limit':
        'it sleeps for as long as `Retry-After` says, and without it asks again and again. A 402 or 403 ends that at once, but its requests have no header that names it.',
    },
    command: async ({ baseUrl, apiKey, model, home, bin, goesOn }, prompt) => {
      const file = join(home, 'config.yaml');
      const config = `name: Docket
version: 0.0.1
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${baseUrl}
    apiKey: ${apiKey}
    roles: [chat]
    capabilities: [tool_use]
`;
      await writeFile(file, config);
      return {
        file: join(bin, 'cn'),
        args: [...(goesOn ? ['--resume'] : []), '-p', prompt, '--config', file, '--auto'],
        env: { CONTINUE_TELEMETRY_ENABLED: '0' },
      };
    },
  },
  {
    name: 'aider-chat',
    source: 'pip',
    version: '0.86.2',
    route: 'chat',
    hasTools: false,
    command: async ({ baseUrl, apiKey, model, bin }, prompt) => ({
      file: join(bin, 'aider'),
      args: [
        `--model=openai/${model}`,
        `--openai-api-base=${baseUrl}`,
        `--openai-api-key=${apiKey}`,
        `--message=${prompt}`,
        '--yes-always',
        '--no-git',
        '--no-check-update',
        '--no-show-model-warnings',
        '--analytics-disable',
        '--no-pretty',
      ],
      env: {},
    }),
  },
  {
    name: 'shell-gpt',
    source: 'pip',
    version: '1.5.1',
    // It imports what newer versions of another package no longer bring.
    beside: ['click==8.4.2'],
    route: 'chat',
    hasTools: false,
    command: async ({ baseUrl, apiKey, model, bin }, prompt) => ({
      file: join(bin, 'sgpt'),
      args: ['--no-cache', '--no-md', prompt],
      env: { API_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, DEFAULT_MODEL: model },
    }),
  },
  {
    name: 'anthropic',
    source: 'pip',
    version: '2.14.0',
    route: 'messages',
    receipt:
      '`message.receipt`; of a stream `receipt` of its event `message_stop`, of the helper `messages.stream` the id alone',
    hasTools: true,
    command: scripted(['use_anthropic.py'], anthropic),
  },
  {
    name: '@anthropic-ai/sdk',
    source: 'own',
    version: OWN['@anthropic-ai/sdk'],
    route: 'messages',
    receipt: '`message.receipt`; of a stream `receipt` of its event `message_stop`',
    hasTools: true,
    command: scripted(['use_anthropic.ts'], anthropic),
  },
  {
    name: '@ai-sdk/openai-compatible',
    source: 'own',
    version: OWN['@ai-sdk/openai-compatible'],
    route: 'chat',
    receipt: '`providerMetadata`, by a `metadataExtractor`',
    hasTools: true,
    command: scripted(['use_ai_sdk.ts', '@ai-sdk/openai-compatible'], openai),
  },
  {
    name: '@ai-sdk/openai',
    source: 'own',
    version: OWN['@ai-sdk/openai'],
    route: 'responses',
    receipt:
      '`response.body.receipt`, with `include: { responseBody: true }`; of a stream a raw chunk',
    hasTools: true,
    command: scripted(['use_ai_sdk.ts', '@ai-sdk/openai'], openai),
  },
  {
    name: 'agent-framework-openai',
    source: 'pip',
    version: '1.17.0',
    route: 'responses',
    hasTools: true,
    command: scripted(['use_agent_framework.py'], openai),
  },
  {
    name: 'smolagents',
    source: 'pip',
    version: '1.26.0',
    beside: ['openai==3.54.0'],
    route: 'chat',
    hasTools: true,
    why: {
      'over its limit':
        'it asks again after any 429, a minute later and two minutes after that, and then shows why. Its requests have no header that names it.',
    },
    command: scripted(['use_smolagents.py'], openai),
  },
  {
    name: 'haystack-ai',
    source: 'pip',
    version: '3.4.1',
    route: 'chat',
    hasTools: true,
    command: scripted(['use_haystack.py'], (setting) => ({
      ...openai(setting),
      HAYSTACK_TELEMETRY_ENABLED: 'false',
    })),
  },
  {
    name: 'crewai',
    source: 'pip',
    version: '1.15.30',
    route: 'chat',
    hasTools: true,
    command: scripted(['use_crewai.py'], (setting) => ({
      ...openai(setting),
      CREWAI_DISABLE_TELEMETRY: 'true',
    })),
  },
  {
    name: 'inspect-ai',
    source: 'pip',
    version: '0.3.285',
    beside: ['openai==3.54.0'],
    route: 'chat',
    hasTools: true,
    command: scripted(['use_inspect.py'], openai),
  },
  {
    name: 'promptfoo',
    source: 'npm',
    version: '0.123.1',
    route: 'chat',
    hasTools: false,
    why: {
      'too many a second':
        'it waits and asks again, and then takes an answer for a refusal when `x-ratelimit-remaining-requests: 0` stands beside it, drops it, and asks again until it gives up. Each of these answers has its receipt.',
    },
    command: async (setting, prompt) => {
      const file = join(setting.home, 'promptfooconfig.json');
      const tests = [{ vars: { prompt } }];
      const providers = [`openai:chat:${setting.model}`];
      await writeFile(file, JSON.stringify({ prompts: ['{{prompt}}'], providers, tests }));
      return {
        file: join(setting.bin, 'promptfoo'),
        args: ['eval', '--config', file, '--no-cache', '--no-progress-bar'],
        env: {
          ...openai(setting),
          PROMPTFOO_DISABLE_TELEMETRY: '1',
          PROMPTFOO_DISABLE_UPDATE: '1',
        },
      };
    },
  },
  {
    name: 'guidellm',
    source: 'pip',
    version: '0.8.1',
    route: 'chat',
    hasTools: false,
    why: {
      'too many a second': 'it measures, so a refusal is a failed request of its report.',
      'over its limit': 'its report has the status 429, and nothing of what was answered.',
    },
    command: async ({ root, apiKey, model, work, bin }, prompt) => {
      const [prompts, report] = [join(work, 'prompts.jsonl'), join(work, 'report.json')];
      await writeFile(prompts, `${JSON.stringify({ prompt })}\n`);
      const benchmark = [
        '--disable-progress',
        `--backend=kind=openai_http,target=${root},api_key=${apiKey},model=${model}`,
        '--profile=kind=synchronous',
        '--constraint=kind=max_requests,count=1',
        `--data=kind=json_file,path=${prompts}`,
        `--output=kind=json,path=${report}`,
      ];
      return {
        // Answers stand in its report alone.
        file: 'sh',
        args: ['-c', '"$@"; cat "$0"', report, join(bin, 'guidellm'), 'run', ...benchmark],
        env: {},
      };
    },
  },
  {
    name: 'lm-eval[api]',
    source: 'pip',
    version: '0.4.13',
    route: 'chat',
    hasTools: false,
    command: scripted(['use_lm_eval.py'], openai),
  },
  {
    name: 'open-webui',
    source: 'pip',
    version: '0.12.4',
    route: 'chat',
    hasTools: false,
    command: scripted(['use_open_webui.py'], ({ baseUrl, apiKey, home }) => ({
      OPENAI_API_BASE_URL: baseUrl,
      OPENAI_API_KEY: apiKey,
      DATA_DIR: home,
      // What it was once told it would keep, whichever key is set later.
      ENABLE_PERSISTENT_CONFIG: 'false',
      ENABLE_OLLAMA_API: 'false',
      WEBUI_AUTH: 'false',
      // It would fetch a model for embeddings from a hub.
      RAG_EMBEDDING_ENGINE: 'openai',
      OFFLINE_MODE: 'true',
    })),
  },
];

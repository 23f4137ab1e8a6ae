import type { Command } from 'commander';
import { type ApiAccess, askApi, readKeyFile } from '#cli/ask-api.ts';
import { printJson, printTable, type Row } from '#cli/print.ts';
import { readableAmounts, type StatedAmount } from '#cli/verify/said.ts';
import { readEnvironment } from '#shared/config/config.ts';
import { invalidParam } from '#shared/kernel/errors.ts';

interface LastOptions {
  number: string;
  url?: string;
  keyFile?: string;
  json?: boolean;
}

/** What is shown of a receipt. */
interface ListedReceipt {
  id: string;
  credentialSubject: {
    model: string;
    outcome: string;
    startedAt: string;
    inputTokens?: number;
    outputTokens?: number;
  };
  measurement?: { result: StatedAmount[] };
}

/** `docket last`: the newest receipts of a key, for who uses a program that shows none. */
export function register(program: Command): void {
  program
    .command('last')
    .description(
      'the newest receipts of a key: what a program just asked, and where its receipt is',
    )
    .option('-n, --number <n>', 'how many, at most 100', '10')
    .option('--url <base url>', 'address of the API, ending in /v1; OPENAI_BASE_URL when absent')
    .option(
      '--key-file <path>',
      'file with the API key, - for standard input; OPENAI_API_KEY when absent',
    )
    .option('--json', 'for programs: the receipts themselves')
    .action(last);
}

async function last({ number, json, ...options }: LastOptions): Promise<void> {
  if (!/^[1-9]\d{0,2}$/.test(number) || Number(number) > 100) {
    throw invalidParam('number', '--number must be a whole number from 1 to 100.');
  }
  const answer = await askApi(accessOf(options), 'GET', `/receipts?key=self&limit=${number}`);
  const { data } = (await answer.json()) as { data: ListedReceipt[] };
  if (json === true) return printJson(data);
  printTable(data.map(row), 'No receipt of this key yet.');
}

function accessOf({ url, keyFile }: Pick<LastOptions, 'url' | 'keyFile'>): ApiAccess {
  const { OPENAI_BASE_URL, OPENAI_API_KEY } = readEnvironment();
  const baseUrl = url ?? OPENAI_BASE_URL;
  const apiKey = keyFile === undefined ? OPENAI_API_KEY : readKeyFile(keyFile);
  if (!baseUrl)
    throw new Error('Name --url, or set OPENAI_BASE_URL: the address of the API, ending in /v1.');
  if (!apiKey)
    throw new Error('Name --key-file, or set OPENAI_API_KEY: a key with the scope service:read.');
  return { baseUrl, apiKey };
}

function row({ id, credentialSubject: subject, measurement }: ListedReceipt): Row {
  const emissions = measurement?.result.filter(({ quantityKind }) => quantityKind === 'gwp') ?? [];
  const [amount] = Object.values(readableAmounts(emissions));
  return {
    // To the second: an agent asks several times a minute.
    time: subject.startedAt.replace(/\.\d+/, ''),
    model: subject.model,
    outcome: subject.outcome,
    in: subject.inputTokens ?? null,
    out: subject.outputTokens ?? null,
    emissions: amount ?? null,
    receipt: id.slice(id.lastIndexOf('/') + 1),
  };
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKS, type Client, sourceOf } from './clients.ts';
import type { Found } from './run-client.ts';

export interface ClientReport {
  client: Client;
  found: readonly Found[];
}

const FENCES = { Python: 'python', Go: 'go', Java: 'java', Rust: 'rust', TypeScript: 'ts' };
const MARKS = { works: '✓', fails: '✗', 'not offered': '–' };

const INTRODUCTION = `# Client libraries

This page says which client libraries work with Docket, and how each reads the receipt. opencode, an agent that is made with one, is among them. \`npm run clients -- --write\` writes this page: it starts the product as \`npm start\` does, with its sandbox upstream, installs each library at the version in the table, and asks through it. Every receipt that a program hands over is verified against the keys that the service publishes.

\`npm test\` runs the libraries in JavaScript ([openai](../test/product/openai.test.ts), [the AI SDK](../test/product/ai-sdk.test.ts), [Anthropic's](../test/product/anthropic.test.ts), [LangChain](../test/product/langchain.test.ts)). [Claude Code](messages.md#claude-code) needs a base URL; agents and other programs are on [another page](clients.md).

Each section reads the receipt, of a whole and of a streamed answer where both can be had. In the snippets, \`stored_receipt\`, \`StoredReceipt\` and \`storedReceipt\` are \`GET /v1/receipts/{id}\`, for clients that drop what they do not know. If a program shows no receipt, \`npx docket last\` lists the newest of its key, with time, model and tokens (\`OPENAI_BASE_URL\` and \`OPENAI_API_KEY\`, or \`--url\` and \`--key-file\`), and the dashboard has them under *Receipts*.

✓: works as its documentation says. ✗: does not. –: it has no such thing; its section says so. An empty cell: not asked of it.

- *counts*: the tokens that it says of an answer and of a stream are those of the receipt.
- *over the window*: a prompt that the model cannot take raises \`ContextOverflowError\` of LangChain, \`ContextWindowExceededError\` of LiteLLM, \`BadRequestError\` with the code \`prompt_too_long\` of openai. opencode shortens the conversation and goes on.
- *keys*: lists the keys of the organisation after one of them was revoked. Asked of clients that a generator made of \`/openapi.json\`. Of openapi-generator's libraries for Java this is the default, \`okhttp-gson\`: what 7.25.0 makes with \`--library native\` does not compile, since it writes \`List<…>.class\` where a union has a list.
`;

/** The page of all reports. */
export function pageOf(reports: readonly ClientReport[]): string {
  const head = `| client | version | ${CHECKS.join(' | ')} |\n| --- | --- | ${CHECKS.map(() => '---').join(' | ')} |`;
  const rows = reports.map(({ client, found }) => {
    const marks = CHECKS.map((name) => {
      const one = found.find(({ check }) => check === name);
      return one === undefined ? '' : MARKS[one.verdict];
    });
    return `| ${client.name} | ${client.version} | ${marks.join(' | ')} |`;
  });
  return `${INTRODUCTION}\n${head}\n${rows.join('\n')}\n\n${reports.map(sectionOf).join('\n')}`;
}

function sectionOf({ client, found }: ClientReport): string {
  const lacking = found
    .filter(({ verdict }) => verdict !== 'works')
    .map(({ check, words = '' }) => `- ${check}: ${words.replaceAll(/\s+/g, ' ')}\n`);
  return `## ${client.name}

${client.language}${client.generator !== undefined ? ', a generator of clients' : ''}:

\`\`\`${FENCES[client.language]}
${snippetOf(client)}
\`\`\`
${lacking.length === 0 ? '' : `\n${lacking.join('')}`}`;
}

/** Between two comments of the program, so that it is what was run; as far to the left as it goes. */
export function snippetOf(client: Client): string {
  const file = sourceOf(client);
  const text = readFileSync(join(import.meta.dirname, file), 'utf8');
  const [, indent, snippet] =
    /^( *)(?:#|\/\/) snippet\n([^]*?)^ *(?:#|\/\/) end$/m.exec(text) ?? [];
  if (snippet === undefined) throw new Error(`${file} has no snippet`);
  return snippet.replaceAll(new RegExp(`^${indent}`, 'gm'), '').trim();
}

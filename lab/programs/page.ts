import { PROGRAMS, type Step, STEPS } from './programs.ts';

/** What one step of a program came to. */
export interface Found {
  program: string;
  step: Step;
  verdict: 'works' | 'fails';
  /** Where it is another way than by the answer. */
  how?: string;
}

const MARKS = { works: '✓', fails: '✗' } as const;

const INTRODUCTION = `# Clients: agents and other programs

Which agents and other programs work with Docket by address, key and model alone, and where each has its receipt. Client libraries, call by call, are on [another page](libraries.md).

\`npm run programs -- --write\` writes this page. It installs each program at the version given here and gives it prompts without a terminal, before a model that answers by script. It sets the address, the key and the model as the program's documentation has it ([programs.ts](../lab/programs/programs.ts)), lets the program use its tools without asking, and keeps it from reporting home. Libraries run an agent in a script, as their documentation shows.

**The receipt.** No program shows it. _docket last_ means: \`npx docket last\` lists the newest receipts of a key, and the dashboard has them on its first page and under _Receipts_. What you write with a library has the receipt in what the library returns.

| step | what passes |
| --- | --- |
| three steps | The model has the program write a file with its own tools, read it again and say so. The file is there. |
| silence of 50 s | The model thinks so long before its first word, and the answer comes. |
| broken answer | The connection is cut in the middle, once. The program asks again and has the answer, or says what happened (_says so_). Docket itself asks again for an answer that is not streamed. |
| receipts | Each call of the model until then has left one receipt of the program's key. All verify, and those of whole answers state the model's tokens. |
| too many a second | The key has used up its second. The program waits as long as \`Retry-After\` says and has the answer, or says what happened (_says so_). |
| long session | Two prompts fit the model's window one by one but not together, and the model refuses. The program shortens the conversation and has the answer, or says what happened (_says so_). |
| over its limit | The day's requests are used up: \`Retry-After\` says midnight, beside \`x-should-retry: false\`. The program shows why within ninety seconds. The dashboard shows it under _Requests_ in any case. |

- **Codex** is given a model's name that it knows (\`gpt-5.5\`), an [alias](catalogue.md#names-that-programs-have-built-in) in the catalogue. With others it sends other tools and settings. It says that a conversation is too long, and shortens it before its next prompt.
- **Codex and opencode** sleep until midnight after what others are told of a day or a [hard budget](budgets.md) that is used up. Where their header names them (\`originator: codex_…\`, \`codex-…\` or \`Codex …\`; \`user-agent: opencode/…\`), \`error.type\` is \`usage_limit_reached\` there, with \`resets_at\` for a day of Codex's, and the status 402 for opencode. On \`/v1/messages\` they are told what others are. opencode still waits where the message of a budget has the digits 429, 500, 502, 503, 504 or 524 in it.
- **Not tried** is what needs a hub of models: guidellm's prompts made by a tokenizer, the tasks that lm-eval fetches, and reading documents in Open WebUI. Tasks of lm-eval that compare given answers need probabilities, which chats do not give.
`;

const LEGEND =
  '–: it runs no tools, keeps no conversation, or cannot go on with one without a terminal.';

/** The page with the table of all programs. */
export function pageOf(found: readonly Found[]): string {
  const rows = PROGRAMS.map(({ name, version, route, receipt = '_docket last_' }) => {
    const cells = STEPS.map((step) => {
      const one = found.find(({ program, step: of }) => program === name && of === step);
      if (one === undefined) return '–';
      return [MARKS[one.verdict], one.how ?? ''].join(' ').trim();
    });
    return [name, version, route, ...cells, receipt];
  });
  const head = ['program', 'version', 'interface', ...STEPS, 'where the receipt is'];
  const table = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
  const reasons = PROGRAMS.flatMap(({ name, why = {} }) =>
    found
      .filter(({ program, verdict }) => program === name && verdict === 'fails')
      .flatMap(({ step }) =>
        why[step] === undefined ? [] : [`- ${name}, *${step}*: ${why[step]}`],
      ),
  );
  return [INTRODUCTION, ...table, '', LEGEND, '', ...reasons, ''].join('\n');
}

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

What the programs that people put before a model do with Docket, as \`npm run programs -- --write\` found it: it starts the product before a model that answers by script, installs each program at the version given here, and gives it prompts without a terminal, as a person of whom it knows nothing. A library is in a script that runs an agent with it as its documentation shows, with a tool that writes a file and one that reads it. Set are the address, the key and the model, each as the program's own documentation has it ([programs.ts](../lab/programs/programs.ts) says how), and nothing else but what lets it use its tools without asking a person, and keeps it from reporting home. What single calls of client libraries do, and how each reads a receipt, is on [another page](libraries.md).

- *three steps*: the model has it write a file with its own tools, read it again, and say that it has done so; the file is there.
- *silence of 50 s*: the model thinks so long before its first word, and the answer comes.
- *broken answer*: its connection is cut in the middle, once. The program asks again and has the answer, or says what happened (*says so*). For an answer that comes whole Docket itself asks the model again.
- *receipts*: each call of the model until then has left one receipt of the program's key; all verify, and those of whole answers state the model's tokens.
- *too many a second*: the key has just used what it may ask in a second. The program waits as long as \`Retry-After\` says, asks again and has the answer, or says what happened (*says so*).
- *long session*: each of two prompts is within the model's window, and both together are not: the model refuses them. The program shortens the conversation and has the answer, or says what happened (*says so*).
- *over its limit*: the day's budget is used up. The program shows why within ninety seconds. \`Retry-After\` says midnight, when the budget is whole again, and \`x-should-retry: false\` stands beside it. Why a program waits is on the dashboard under _Requests_.

Codex is told of a model by a name that it knows (\`gpt-5.5\`), which is an [alias](catalogue.md#names-that-programs-have-built-in) in the catalogue here; it sends other tools and settings with a name that it does not know. What comes from a hub of models is not tried: guidellm makes up texts with a model's tokenizer, and has a prompt in a file here; the tasks of lm-eval are fetched, and it has one of a single question here (tasks that compare given answers ask for probabilities, which chats do not give); Open WebUI reads documents by a model for embeddings, and is asked to chat here.

*where the receipt is*: none of the programs shows one. \`npx docket last\` lists the newest of a key, with time, model and tokens, and the dashboard has them on its first page and under *Receipts* (_docket last_). What is written with a library has the receipt in what the library hands over: the member is what [tests](../test/product) and [the other page](libraries.md) read it from.
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

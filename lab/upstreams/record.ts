import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { type Case, cases, longStream } from './cases.ts';
import type { Recorded } from '#test/support/recorded-answers.ts';
import { authorization, type ModelServer } from './server-process.ts';

/** A stream longer than this is shortened in the file. */
const BODY_CHARS_MAX = 12_000;
/** A server answers within this time, or hangs: status 0 is recorded of one that has not begun. */
const ANSWER_MS = 60_000;

/** Asks one thing of a server and keeps every byte of the answer. `onData` sees what has come so far. */
function ask(
  server: ModelServer,
  { path, body, headers }: Case,
  onData: (soFar: string) => void = () => {},
): Promise<Recorded> {
  const { promise, resolve } = Promise.withResolvers<Recorded>();
  const asked = { path, ...(headers === undefined ? {} : { headers }), body };
  const call = request(
    server.origin + path,
    {
      method: 'POST',
      // A connection of its own: servers close kept ones without a word.
      agent: false,
      headers: { 'content-type': 'application/json', ...authorization(server.kind), ...headers },
    },
    (answer) => {
      const chunks: Buffer[] = [];
      const text = (): string => Buffer.concat(chunks).toString();
      const end = (whole: boolean): void =>
        resolve({
          request: asked,
          status: answer.statusCode ?? 0,
          contentType: answer.headers['content-type'] ?? '',
          whole,
          body: text(),
        });
      answer.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        onData(text());
      });
      answer.on('end', () => end(true));
      answer.on('error', () => end(false));
    },
  );
  const late = setTimeout(() => call.destroy(), ANSWER_MS);
  call.on('close', () => clearTimeout(late));
  // Only when no head of an answer has come; what breaks off later has been resolved with what there was.
  call.on('error', () =>
    resolve({ request: asked, status: 0, contentType: '', whole: false, body: '' }),
  );
  call.end(JSON.stringify(body));
  return promise;
}

/** Records every case of a server, and how its streams end when they overlap, and when it is killed. It runs again afterwards. */
export async function recordServer(
  server: ModelServer,
  directory: string,
  secretPaths: readonly string[],
  say: (line: string) => void,
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const keep = async (name: string, recorded: Recorded): Promise<void> => {
    say(`${name}: ${recorded.status}${recorded.whole ? '' : ', cut off'}`);
    let text = JSON.stringify({ ...recorded, body: shortened(recorded.body) }, null, 2);
    for (const path of secretPaths) text = text.replaceAll(path, '/models');
    await writeFile(join(directory, `${name}.json`), `${text}\n`);
  };
  for (const [name, one] of Object.entries(cases(server.model, server.kind.namesTool))) {
    await keep(name, await ask(server, one));
  }
  const long = longStream(server.model);
  const begun = Promise.withResolvers<void>();
  const first = ask(server, long, (soFar) => soFar.length > 2_000 && begun.resolve());
  await Promise.race([begun.promise, first]);
  await ask(server, cases(server.model)['chat']!);
  await keep('stream-overlapped', await first);
  const killed = await ask(server, long, (soFar) => soFar.length > 2_000 && void server.stop());
  await keep('stream-killed', killed);
  await server.launch();
}

/** Keeps the beginning and the end of a long stream: between them every event says the same. */
function shortened(body: string): string {
  if (body.length <= BODY_CHARS_MAX) return body;
  const events = body.split('\n\n');
  return events.length < 12 ? body : [...events.slice(0, 4), ...events.slice(-6)].join('\n\n');
}

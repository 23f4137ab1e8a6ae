import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a real model server answered, beside what it was asked: a file of test/fixtures/upstreams, written by `npm run upstreams -- --record`. */
export interface Recorded {
  request: { path: string; headers?: Record<string, string>; body: Record<string, unknown> };
  /** 0 when no answer began within a minute. */
  status: number;
  contentType: string;
  /** False when the connection broke before the answer's end. */
  whole: boolean;
  /** The bytes of the body, as UTF-8. */
  body: string;
}

const FOLDER = join(import.meta.dirname, '../fixtures/upstreams');

/** Every recorded answer, as [name of the server, name of the case, answer]. */
export function recordedAnswers(): [server: string, name: string, answer: Recorded][] {
  return readdirSync(FOLDER).flatMap((server) =>
    readdirSync(join(FOLDER, server)).map((file): [string, string, Recorded] => {
      const text = readFileSync(join(FOLDER, server, file), 'utf8');
      return [server, file.replace(/\.json$/, ''), JSON.parse(text) as Recorded];
    }),
  );
}

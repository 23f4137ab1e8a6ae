import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { atFileEnd } from './file-end.ts';

const SCRIPT = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;

/**
 * Runs the script's own main for each line of arguments: Python starts once for all packs of a test file. What OpenSSL found of a
 * timestamp is remembered: of the same bytes, text and certificates it would find the same, by four programs.
 */
const DRIVER = `
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
import verify
stamped, found = verify.stamped, {}
def stamped_once(timestamp, text, trust):
    with open(trust, 'rb') as file:
        seen = json.dumps(timestamp, sort_keys=True), text, file.read()
    if seen not in found:
        found[seen] = stamped(timestamp, text, trust)
    return found[seen]
verify.stamped = stamped_once
for line in sys.stdin:
    said = io.StringIO()
    said.fileno = sys.stdout.fileno
    with contextlib.redirect_stdout(said):
        code = verify.main(json.loads(line))
    print(json.dumps([code, said.getvalue()]), flush=True)
`;

/** How its verdict on a good pack begins. */
export const SCRIPT_GOOD = /^GOOD, except NOT CHECKED: page, lineage {2}/;

export interface PythonVerdict {
  code: number | null;
  output: string;
}

interface Script {
  child: ChildProcessWithoutNullStreams;
  lines: Interface;
  last: Promise<unknown>;
}

/** With what Python has on this machine, and with nothing but Python: no package is found. */
type Python = 'with packages' | 'alone';
const running = new Map<Python, Script>();

function start(python: Python): Script {
  const flags = python === 'alone' ? ['-I', '-S'] : [];
  const child = spawn('python3', [...flags, '-c', DRIVER, dirname(SCRIPT)], {
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  });
  // Alone, it says each time that it is slower.
  if (python === 'alone') child.stderr.resume();
  else child.stderr.pipe(process.stderr);
  atFileEnd(async () => {
    running.delete(python);
    const gone = once(child, 'exit');
    child.kill();
    await gone;
  });
  return { child, lines: createInterface(child.stdout), last: Promise.resolve() };
}

/** What the script that every pack holds says of a pack. */
export function verifyWithPython(
  pack: string,
  trust: string | null,
  more: readonly string[] = [],
  python: Python = 'with packages',
): Promise<PythonVerdict> {
  const args = [pack, ...(trust === null ? [] : ['--trust', trust]), ...more];
  const script = running.get(python) ?? start(python);
  running.set(python, script);
  const verdict = script.last.then(() => ask(script, args));
  script.last = verdict.catch(() => {});
  return verdict;
}

async function ask({ child, lines }: Script, args: readonly string[]): Promise<PythonVerdict> {
  const answer = new Promise<string>((resolve, reject) => {
    const onExit = () => reject(new Error('the script ended early'));
    child.once('exit', onExit);
    lines.once('line', (line) => {
      child.off('exit', onExit);
      resolve(line);
    });
  });
  child.stdin.write(`${JSON.stringify(args)}\n`);
  const [code, output] = JSON.parse(await answer) as [number, string];
  return { code, output };
}

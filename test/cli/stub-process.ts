/** A program of commands that do what none of `docket` should, run by a host of commands. */
export async function runProgram([command = '', ...args]: readonly string[]): Promise<void> {
  switch (command) {
    case 'show': {
      let input = '';
      for await (const chunk of process.stdin) input += String(chunk);
      process.stdout.write(JSON.stringify({ args, env: process.env['SHOWN'] ?? null, input }));
      process.stderr.write('shown');
      process.exitCode = 3;
      return;
    }
    case 'late':
      process.exitCode = 3;
      setImmediate(() => (process.exitCode = 4));
      return;
    case 'leave':
      setTimeout(() => {}, 600_000);
      return;
    case 'exit':
      process.stdout.write('last words');
      return process.exit(7);
    case 'throw':
      setImmediate(() => {
        throw new Error('of nothing that waits for it');
      });
      return;
    case 'late wait':
      setImmediate(() => (process.exitCode = 4));
      return new Promise(() => {});
    default:
      await new Promise(() => {});
  }
}

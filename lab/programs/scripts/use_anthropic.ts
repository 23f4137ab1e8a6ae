/** Anthropic's SDK: its tool runner, which streams, with the helper that puts a stream together. */
import { readFile, writeFile } from 'node:fs/promises';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { readEnvironment } from '#shared/config/config.ts';

const runner = new Anthropic().beta.messages.toolRunner({
  model: readEnvironment()['MODEL']!,
  max_tokens: 1_000,
  messages: [{ role: 'user', content: process.argv[2]! }],
  stream: true,
  tools: [
    betaTool({
      name: 'write_file',
      description: 'Writes a text into a file.',
      inputSchema: {
        type: 'object',
        properties: { path: { type: 'string' }, content: { type: 'string' } },
        required: ['path', 'content'],
      },
      run: async ({ path, content }) => {
        await writeFile(path, content);
        return 'It is written.';
      },
    }),
    betaTool({
      name: 'read_file',
      description: 'Reads a file.',
      inputSchema: {
        type: 'object',
        properties: { path: { type: 'string' } },
        required: ['path'],
      },
      run: ({ path }) => readFile(path, 'utf8'),
    }),
  ],
});
for await (const stream of runner) {
  stream.on('text', (text) => process.stdout.write(text));
  await stream.finalMessage();
}

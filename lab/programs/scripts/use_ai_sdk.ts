/** The AI SDK: its agent, by chats or by responses. */
import { readFile, writeFile } from 'node:fs/promises';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { jsonSchema, tool, ToolLoopAgent } from 'ai';
import { readEnvironment } from '#shared/config/config.ts';

const [provider, prompt] = process.argv.slice(2);
const environment = readEnvironment();
const [baseURL, apiKey] = [environment['OPENAI_BASE_URL']!, environment['OPENAI_API_KEY']!];
const MODEL = environment['MODEL']!;
const model =
  provider === '@ai-sdk/openai'
    ? createOpenAI({ baseURL, apiKey })(MODEL)
    : createOpenAICompatible({ name: 'docket', baseURL, apiKey, includeUsage: true })(MODEL);
const text = { type: 'string' } as const;

const agent = new ToolLoopAgent({
  model,
  tools: {
    write_file: tool({
      description: 'Writes a text into a file.',
      inputSchema: jsonSchema<{ path: string; content: string }>({
        type: 'object',
        properties: { path: text, content: text },
        required: ['path', 'content'],
        additionalProperties: false,
      }),
      execute: async ({ path, content }) => {
        await writeFile(path, content);
        return 'It is written.';
      },
    }),
    read_file: tool({
      description: 'Reads a file.',
      inputSchema: jsonSchema<{ path: string }>({
        type: 'object',
        properties: { path: text },
        required: ['path'],
        additionalProperties: false,
      }),
      execute: ({ path }) => readFile(path, 'utf8'),
    }),
  },
});
const { stream } = await agent.stream({ prompt: prompt! });
for await (const part of stream) {
  if (part.type === 'text-delta') process.stdout.write(part.text);
}

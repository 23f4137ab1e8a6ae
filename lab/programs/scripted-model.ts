import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { NotingUpstream } from '#test/support/noting-upstream.ts';

/** What a prompt has in it, by which the model knows what it is to do. */
export const TASKS = {
  tell: 'TASK-TELL',
  write: 'TASK-WRITE',
  wait: 'TASK-WAIT',
  break: 'TASK-BREAK',
  goOn: 'TASK-GO-ON',
} as const;
/** Ends each answer that came to its end. */
export const SAID = 'The lamp turns every ten seconds.';
/** What it says when it has seen that the file is written and read: all of the conversation is before it. */
export const DONE = 'The log is kept.';
/** What it says instead to a conversation that goes on. */
export const SAID_LATER = 'The lamp is lit again.';
/** More words of the sea in one conversation it refuses, as servers do what is over their window. */
export const SEAS_MAX = 20_000;
/** What it writes into the file that it is asked for. */
export const WRITTEN = 'The keeper sleeps.';
/** What it says that each of its answers took: as much as the longest of the prompts may be, or the product would count itself. */
export const TOKENS = { input: 1_000, output: 10 } as const;
/** Longer than programs wait that count events, and shorter than any deadline of the gateway. */
const SILENT_MS = 50_000;

type Tool = { name: string; properties: JsonObject };
/** What the model does next: it says something, or calls a tool. */
type Step = { say: string } | { call: string; args: JsonObject };

/**
 * A model by script, behind the interface of chat completions: it calls the tools of whichever program asks, by what their
 * schemas say, so that a file is written and read, and says that it has done so. Of each model it breaks one answer off, so
 * that a program which tries again has it.
 */
export class ScriptedModel extends NotingUpstream {
  readonly #broken = new Set<unknown>();
  readonly #calls = new Map<unknown, number>();

  /** How many answers of a model the product may have passed on. */
  callsOf(model: string): number {
    return this.#calls.get(model) ?? 0;
  }

  protected override answerTo(body: JsonObject, response: ServerResponse): void {
    this.#answer(body, response).catch(() => response.destroy());
  }

  async #answer(body: JsonObject, response: ServerResponse): Promise<void> {
    const { model } = body;
    const prompt = promptOf(body);
    if (prompt.split('sea ').length > SEAS_MAX) return refuse(response);
    if (prompt.includes(TASKS.wait)) await delay(SILENT_MS);
    const step = stepOf(body, prompt);
    const breaks = prompt.includes(TASKS.break) && !this.#broken.has(model);
    if (breaks) this.#broken.add(model);
    // The product itself asks again for an answer that was to come whole, and its one receipt is of the second.
    if (breaks && body['stream'] !== true) return void response.destroy();
    this.#calls.set(model, (this.#calls.get(model) ?? 0) + 1);
    if (body['stream'] === true) return stream(response, body, step, breaks);
    const { message, reason } = messageOf(step);
    const choices = [{ index: 0, message, finish_reason: reason }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ ...headOf(body), object: 'chat.completion', choices, usage: USAGE }),
    );
  }
}

const USAGE = {
  prompt_tokens: TOKENS.input,
  completion_tokens: TOKENS.output,
  total_tokens: TOKENS.input + TOKENS.output,
};

const headOf = ({ model }: JsonObject): JsonObject => ({
  id: 'chatcmpl-scripted',
  created: 1_764_000_000,
  model,
});

function refuse(response: ServerResponse): undefined {
  const message = `This model's maximum context length is ${SEAS_MAX} tokens, and your messages have more.`;
  const error = { message, type: 'invalid_request_error', code: 'context_length_exceeded' };
  response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}

function messageOf(step: Step): { message: JsonObject; reason: string } {
  if ('say' in step) return { message: { role: 'assistant', content: step.say }, reason: 'stop' };
  const call = { name: step.call, arguments: JSON.stringify(step.args) };
  return {
    message: {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `call_${Date.now()}`, type: 'function', function: call }],
    },
    reason: 'tool_calls',
  };
}

/** Word by word; a break is in the middle, without an end. */
function stream(
  response: ServerResponse,
  body: JsonObject,
  step: Step,
  breaks: boolean,
): undefined {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (more: JsonObject): boolean =>
    response.write(
      `data: ${JSON.stringify({ ...headOf(body), object: 'chat.completion.chunk', ...more })}\n\n`,
    );
  const chunk = (delta: JsonObject, reason: string | null = null): boolean =>
    send({ choices: [{ index: 0, delta, finish_reason: reason }] });
  const { message, reason } = messageOf(step);
  chunk({ role: 'assistant', content: '' });
  if ('say' in step) {
    const words = step.say.split(/(?<= )/);
    for (const word of breaks ? words.slice(0, words.length / 2) : words) chunk({ content: word });
  } else {
    chunk({
      tool_calls: listOf(message['tool_calls']).map((call) => ({ index: 0, ...(call as object) })),
    });
  }
  if (breaks) {
    // What was written is to arrive before the connection is gone.
    setTimeout(() => response.destroy(), 50);
    return;
  }
  chunk({}, reason);
  send({ choices: [], usage: USAGE });
  response.end('data: [DONE]\n\n');
}

/** All that users have said in the conversation. */
function promptOf({ messages }: JsonObject): string {
  return listOf(messages)
    .filter(isObject)
    .filter(({ role }) => role === 'user')
    .map(({ content }) => textOf(content))
    .join('\n');
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .filter(isObject)
    .map(({ text }) => text)
    .join('\n');
}

function stepOf(body: JsonObject, prompt: string): Step {
  const tools = toolsOf(body);
  const path = /\/[\w./-]+\/lighthouse\.txt/.exec(prompt)?.[0];
  if (prompt.includes(TASKS.goOn)) return ending(tools, SAID_LATER);
  if (!prompt.includes(TASKS.write) || tools.length === 0 || path === undefined)
    return ending(tools, SAID);
  const done = listOf(body['messages']).filter(isObject).filter(isResult).length;
  const steps = [() => writing(tools, path), () => reading(tools, path)];
  return steps[done]?.() ?? ending(tools, DONE);
}

/** Agents of smolagents have a tool for their last words. */
function ending(tools: readonly Tool[], words: string): Step {
  const last = tools.find(({ name }) => name === 'final_answer');
  return last === undefined ? { say: words } : { call: last.name, args: { answer: words } };
}

/** Whether a tool's result is said in it; smolagents says them as its user's words. */
function isResult({ role, content }: JsonObject): boolean {
  return role === 'tool' || (role === 'user' && textOf(content).startsWith('Observation:'));
}

function toolsOf({ tools }: JsonObject): Tool[] {
  return listOf(tools).flatMap((tool) => {
    const { name, parameters } = ((tool as JsonObject)['function'] ?? {}) as JsonObject;
    if (typeof name !== 'string' || !isObject(parameters)) return [];
    return [{ name, properties: (parameters['properties'] ?? {}) as JsonObject }];
  });
}

const PATH = /^(file_?path|path|filename|target_file|absolute_path)$/i;
const CONTENT = /^(content|contents|text|file_text)$/i;
const COMMAND = /^(command|cmd)$/i;

const named = (tool: Tool, name: RegExp): string | undefined =>
  Object.keys(tool.properties).find((property) => name.test(property));

function writing(tools: readonly Tool[], path: string): Step {
  for (const tool of tools) {
    const [at, content] = [named(tool, PATH), named(tool, CONTENT)];
    if (at !== undefined && content !== undefined)
      return { call: tool.name, args: { [at]: path, [content]: `${WRITTEN}\n` } };
  }
  return commanding(tools, `printf '%s\\n' '${WRITTEN}' > ${path}`);
}

function reading(tools: readonly Tool[], path: string): Step {
  const reads = tools.find((tool) => /read|view/i.test(tool.name) && named(tool, PATH));
  if (reads !== undefined) return { call: reads.name, args: { [named(reads, PATH)!]: path } };
  return commanding(tools, `cat ${path}`);
}

function commanding(tools: readonly Tool[], command: string): Step {
  const shell = tools.find((tool) => named(tool, COMMAND));
  if (shell === undefined) return { say: `There is no tool to run: ${command}` };
  const name = named(shell, COMMAND)!;
  const isList = (shell.properties[name] as JsonObject)['type'] === 'array';
  const described = 'description' in shell.properties ? { description: 'A lighthouse' } : {};
  return {
    call: shell.name,
    args: { [name]: isList ? ['bash', '-lc', command] : command, ...described },
  };
}

import type { TObject } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Fault, invalidParam } from '#shared/kernel/errors.ts';
import { dotted, findFlaw, type Flaw } from '#shared/kernel/flaw.ts';
import { caseCheckOf } from './letter-case.ts';
import { ChatBody, CompletionBody, EmbeddingBody } from './requests.ts';
import type { ChatRequest, CompletionRequest, EmbeddingRequest } from './requests.ts';
import { refuseMembers } from './refused-members.ts';
import {
  ANSWERED_MESSAGE,
  HOSTED_ITEMS,
  ITEMS,
  OtherItem,
  ResponseBody,
  type ResponseRequest,
  TOOLS,
} from './responses.ts';
import { refuseState } from './stateless.ts';

// TypeBox's compiled check takes about a sixth of ajv's time on a chat body, and the reasons are only looked for after a no.
const chat = Compile(ChatBody);
const completion = Compile(CompletionBody);
const embedding = Compile(EmbeddingBody);
const response = Compile(ResponseBody);
const checkCase = {
  chat: caseCheckOf(ChatBody),
  completion: caseCheckOf(CompletionBody),
  embedding: caseCheckOf(EmbeddingBody),
  response: caseCheckOf(ResponseBody),
};

/** The same object, known to be a chat request. Throws a Fault `invalid_<param>` with the dotted path. */
export function validateChat(body: unknown): ChatRequest {
  if (!chat.Check(body)) throw refusal(ChatBody, body);
  checkCase.chat(body);
  refuseMembers(body, ChatBody.properties);
  checkStreamOptions(body);
  for (let index = 0; index < body.messages.length; index += 1) checkContent(body, index);
  return body;
}

/** The same object, known to be a legacy completion request. Throws a Fault `invalid_<param>` with the dotted path. */
export function validateCompletion(body: unknown): CompletionRequest {
  if (!completion.Check(body)) throw refusal(CompletionBody, body);
  checkCase.completion(body);
  refuseMembers(body, CompletionBody.properties);
  checkStreamOptions(body);
  return body;
}

/** The same object, known to be an embeddings request. Throws a Fault `invalid_<param>` with the dotted path. */
export function validateEmbedding(body: unknown): EmbeddingRequest {
  if (!embedding.Check(body)) throw refusal(EmbeddingBody, body);
  checkCase.embedding(body);
  refuseMembers(body, EmbeddingBody.properties);
  return body;
}

/** The same object, known to be a request for a response. Throws a Fault `invalid_<param>` with the dotted path. */
export function validateResponse(body: unknown): ResponseRequest {
  if (typeof body === 'object' && body !== null) refuseState(body as Record<string, unknown>);
  if (!response.Check(body))
    throw refusal(ResponseBody, body, itemFlaw(body) ?? toolFlaw(body) ?? undefined);
  checkCase.response(body);
  refuseMembers(body, ResponseBody.properties);
  checkStreamOptions(body);
  if (Array.isArray(body.input)) checkMedia(body.input);
  return body;
}

/** By which members a part brings its medium: one of them is there. */
const BRINGS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['input_image', ['image_url', 'file_id']],
  ['input_file', ['file_data', 'file_id', 'file_url']],
]);

/** A part without its medium would come back as an upstream failure. */
function checkMedia(input: readonly object[]): void {
  for (const [at, item] of input.entries()) {
    for (const member of ['content', 'output']) {
      const parts: unknown = (item as Record<string, unknown>)[member];
      if (!Array.isArray(parts)) continue;
      for (const [place, part] of (parts as Record<string, unknown>[]).entries()) {
        const names = BRINGS.get(part?.['type']);
        if (names === undefined || names.some((name) => part[name] != null)) continue;
        const path = `input[${at}].${member}[${place}].${names[0]!}`;
        const needed = names.map((name) => `\`${name}\``).join(' or ');
        throw invalidParam('input', `\`${path}\` is required: this part needs ${needed}.`, path);
      }
    }
  }
}

/** What is wrong with the first wrong item: messages need not say that they are messages, so their union cannot tell. */
function itemFlaw(body: unknown): Flaw | null {
  const { input } = (body ?? {}) as { input?: unknown };
  if (!Array.isArray(input)) return null;
  for (const [at, item] of (input as ({ type?: string; role?: string } | null)[]).entries()) {
    const type = item?.type ?? 'message';
    const isAnswer = type === 'message' && item?.role === 'assistant';
    if (HOSTED_ITEMS.has(type)) continue;
    const known = Object.hasOwn(ITEMS, type) ? ITEMS[type]! : OtherItem;
    const flaw = findFlaw(isAnswer ? ANSWERED_MESSAGE : known, item, ['input', at]);
    if (flaw !== null) return flaw;
  }
  return null;
}

/** What is wrong with the first tool that its caller runs: those of servers have types without end. */
function toolFlaw(body: unknown): Flaw | null {
  const { tools } = (body ?? {}) as { tools?: unknown };
  if (!Array.isArray(tools)) return null;
  for (const [at, tool] of tools.entries()) {
    const flaw = memberFlaw(tool, ['tools', at]) ?? flawOfTool(tool, ['tools', at]);
    if (flaw !== null) return flaw;
  }
  return null;
}

/** What is wrong with the first of those in a namespace. */
function memberFlaw(tool: unknown, path: readonly (string | number)[]): Flaw | null {
  const { type, tools } = (tool ?? {}) as { type?: unknown; tools?: unknown };
  if (type !== 'namespace' || !Array.isArray(tools)) return null;
  for (const [at, member] of tools.entries()) {
    if ((member as { type?: unknown } | null)?.type === 'namespace') continue;
    const flaw = flawOfTool(member, [...path, 'tools', at]);
    if (flaw !== null) return flaw;
  }
  return null;
}

function flawOfTool(tool: unknown, path: readonly (string | number)[]): Flaw | null {
  const { type = '' } = (tool ?? {}) as { type?: string };
  const schema = Object.hasOwn(TOOLS, type) ? TOOLS[type] : undefined;
  return schema === undefined ? null : findFlaw(schema, tool, [...path]);
}

/** What is said of a body that its schema does not allow. */
export function refusal(
  schema: TObject,
  body: unknown,
  flaw: Flaw | null = findFlaw(schema, body),
): Fault {
  const param = flaw?.path[0];
  if (flaw === null || typeof param !== 'string') {
    return invalidParam('body', 'The body must be a JSON object with the fields of this endpoint.');
  }
  const path = dotted(flaw.path);
  const rule = flaw.kind === 'missing' ? 'is required:' : 'must be';
  return invalidParam(param, `\`${path}\` ${rule} ${flaw.wanted}.`, path);
}

/** OpenAI refuses stream_options without stream; forwarded, it would come back as an upstream failure. */
function checkStreamOptions(body: ChatRequest | CompletionRequest | ResponseRequest): void {
  if (body.stream_options == null || body.stream === true) return;
  throw invalidParam('stream_options', '`stream_options` may be set only when `stream` is true.');
}

/**
 * An assistant turn must say something: text, a call, a refusal, a recording, or what it thought. Clients send answers back
 * as they came, some with a list of calls that is empty.
 */
function checkContent(body: ChatRequest, index: number): void {
  const message = body.messages[index]!;
  if (message.role !== 'assistant') return;
  const { content } = message;
  if (typeof content === 'string' || (content != null && content.length > 0)) return;
  if (message.tool_calls != null || message.function_call != null) return;
  if (message.reasoning_content != null) return;
  if (message.refusal != null || message.audio != null) return;
  const path = `messages[${index}].content`;
  throw invalidParam(
    'messages',
    `\`${path}\` must be a string or a non-empty array of content parts, unless the message has \`tool_calls\`.`,
    path,
  );
}

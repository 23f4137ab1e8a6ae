import { invalidParam } from '#shared/kernel/errors.ts';
import { isObject, listOf } from '#shared/kernel/json-object.ts';
import { ANSWER_BOUNDS, SERVICE_TIERS } from './fields.ts';
import { likenessOf } from './letter-case.ts';
import { ChatBody, CompletionBody, EmbeddingBody } from './requests.ts';
import { ResponseBody } from './responses.ts';

const WORK = 'it multiplies what one request has generated. Send several requests.';
const UNREAD = 'the policy of this service cannot read it. Send the text itself.';
const SERVERS =
  'by it the servers of an upstream tell each other where to read and keep. Leave it out.';
const CODE = 'an upstream would run it as code. Leave it out.';
const ANOTHER = 'another model would answer than the one that is asked for. Name that in `model`.';
const ELSEWHERE = 'another server than the one of the model would answer. Leave it out.';
const APART =
  'by it a server tells the requests of all its callers apart, and fails where two have the same. Leave it out.';
const SEARCHED =
  'a server would answer no request while it searches for it, which may be without an end. Use `stop`.';
const DEARER =
  'an upstream would charge more for it than the catalogue says that its tokens cost. Leave it out.';
const ORDER = 'an upstream would take the request before those of others. Leave it out.';

/** Clients send these for "not set" and for "as without it". */
const UNSET: ReadonlySet<unknown> = new Set([null, false, 1]);
/** The same of members of which these are values. */
const NULL: ReadonlySet<unknown> = new Set([null]);

interface Refused {
  name: string;
  why: string;
  /** Values that are as none. */
  unset: ReadonlySet<unknown>;
}

/**
 * Extras of open-source servers that are not passed on, with the reason, by what all spellings of their names have in
 * common. `n` is the member that is bounded and counted.
 */
const REFUSED: ReadonlyMap<string, Refused> = new Map([
  ...['best_of', 'use_beam_search', 'beam_width', 'num_beams', 'num_beam_groups'].map(reason(WORK)),
  ...['num_return_sequences', 'n_cmpl', 'generation_config'].map(reason(WORK)),
  ...['num_retries'].map(reason(WORK, new Set([null, 0]))),
  ...['chat_template', 'prompt_embeds', 'prompt_token_ids'].map(reason(UNREAD)),
  ...['input_ids', 'input_embeds', 'token_data'].map(reason(UNREAD)),
  ...['chat_template_str', 'instruction_template_str'].map(reason(UNREAD)),
  ...['data_sources', 'prompt_id'].map(reason(UNREAD, NULL)),
  ...['kv_transfer_params', 'disaggregated_params', 'session_params'].map(reason(SERVERS)),
  ...['bootstrap_host', 'bootstrap_port', 'bootstrap_room'].map(reason(SERVERS)),
  ...['ec_transfer_params', 'disagg_prefill_dp_rank'].map(reason(SERVERS)),
  ...['data_parallel_rank', 'routed_dp_rank'].map(reason(SERVERS, NULL)),
  ...['custom_logit_processor', 'logits_processors'].map(reason(CODE)),
  ...['lora_path', 'lora_request', 'lora', 'adapters', 'models'].map(reason(ANOTHER, NULL)),
  ...['adapter_id', 'draft_model', 'fallbacks'].map(reason(ANOTHER, NULL)),
  ...['context_window_fallbacks', 'content_policy_fallbacks'].map(reason(ANOTHER, NULL)),
  ...['api_base', 'base_url', 'custom_llm_provider', 'user_config'].map(reason(ELSEWHERE, NULL)),
  ...['mock_response', 'mock_tool_calls'].map(reason(ELSEWHERE, NULL)),
  ...['request_id', 'rid'].map(reason(APART, NULL)),
  ...['id_slot'].map(reason(APART, new Set([null, -1]))),
  ...['stop_regex'].map(reason(SEARCHED, NULL)),
  ...['priority'].map(reason(ORDER, new Set([null, 0]))),
  ...['service_tier'].map(reason(DEARER, new Set([null, ...SERVICE_TIERS]))),
  ...['speed'].map(reason(DEARER, new Set([null, 'standard']))),
]);

function reason(why: string, unset: Refused['unset'] = UNSET) {
  return (name: string): [string, Refused] => [likenessOf(name), { name, why, unset }];
}

/** What any route checks at the top of a body, in the same way. */
const CHECKED: ReadonlyMap<string, string> = new Map(
  [ChatBody, CompletionBody, EmbeddingBody, ResponseBody]
    .flatMap((schema) => Object.keys(schema.properties))
    .concat(ANSWER_BOUNDS)
    .map((name) => [likenessOf(name), name] as const),
);
const EXTRA = 'extra_body';
/**
 * Members whose own members some servers take for more: of `extra_body` for those of the body, of `chat_template_kwargs` for
 * arguments of what reads the messages, the template itself among them (SGLang), of `nvext` for the prompt as ids (Dynamo), of
 * `vllm_xargs` for what its own members become (vLLM).
 */
const HOLDERS: ReadonlyMap<string, string> = new Map(
  [EXTRA, 'chat_template_kwargs', 'nvext', 'vllm_xargs'].map(
    (name) => [likenessOf(name), name] as const,
  ),
);

/**
 * Refuses members that would make one request the work of many, or say to a model what screening cannot read: at the top of
 * a body, except where its schema bounds them, and in members that servers look into for them.
 * A name is refused in every spelling that a server may take for it.
 * @throws Fault `invalid_<param>`
 */
export function refuseMembers(body: object, properties: Readonly<Record<string, unknown>>): void {
  refuseKeptMedia((body as { messages?: unknown }).messages);
  for (const name in body) {
    if (Object.hasOwn(properties, name)) continue;
    const value = (body as Record<string, unknown>)[name];
    const likeness = likenessOf(name);
    const refused = REFUSED.get(likeness);
    const holder = HOLDERS.get(likeness);
    if (holder !== undefined) refuseInside(value, { param: holder, holder, path: holder });
    else if (refused !== undefined)
      refuse(refused, { param: refused.name, path: refused.name, spelt: name }, value);
  }
}

/**
 * Members of a medium by which a server takes what an earlier request has left there in its place (vLLM, SGLang): of whichever
 * organisation, and not what is sent.
 */
const OF_KEPT_MEDIA: ReadonlySet<string> = new Set(['uuid', 'content_hash'].map(likenessOf));

/** @throws Fault `invalid_messages` */
function refuseKeptMedia(messages: unknown): void {
  for (const [index, message] of listOf(messages).entries()) {
    const content = isObject(message) ? listOf(message['content']) : [];
    for (const [at, part] of content.entries()) {
      if (!isObject(part) || part['type'] === 'text') continue;
      const medium = part[String(part['type'])];
      for (const holder of isObject(medium) ? [part, medium] : [part])
        for (const name in holder) {
          if (holder[name] == null || !OF_KEPT_MEDIA.has(likenessOf(name))) continue;
          throw invalidParam(
            'messages',
            'A medium cannot be named by what a server keeps of earlier requests. Send its data alone.',
            `messages[${index}].content[${at}]`,
          );
        }
    }
  }
}

/** A member that may hold others: the one at the top of the body, its own name, and where it stands. */
interface Held {
  param: string;
  holder: string;
  path: string;
}

function refuseInside(held: unknown, { param, holder, path }: Held): void {
  if (!isObject(held)) return;
  for (const name in held) {
    const likeness = likenessOf(name);
    const refused = REFUSED.get(likeness);
    const inner = HOLDERS.get(likeness);
    // A template has arguments that are called as members of an interface are.
    const checked = holder === EXTRA ? CHECKED.get(likeness) : undefined;
    if (inner !== undefined)
      refuseInside(held[name], { param, holder: inner, path: `${path}.${inner}` });
    else if (refused !== undefined)
      refuse(refused, { param, path: `${path}.${refused.name}`, spelt: name }, held[name]);
    else if (checked !== undefined) {
      const at = `${path}.${checked}`;
      const message = `\`${at}\` must stand in the body itself, where it is checked.`;
      throw invalidParam(param, message, at);
    }
  }
}

function refuse(
  { name, why, unset }: Refused,
  { param, path, spelt }: { param: string; path: string; spelt: string },
  value: unknown,
): void {
  if (unset.has(value)) return;
  // The caller's spelling may be any text, so it is not repeated.
  const where = spelt === name ? '' : ' in any spelling';
  throw invalidParam(param, `\`${path}\` is not offered${where}: ${why}`, path);
}

import { describe, expect, it } from 'vitest';
import { withoutUnsealed, withoutUnsigned } from '#workers/inference/unsigned-thoughts.ts';

const ULID = '01M7W53ZF4Z6X0T8WB5N2K9MVC';

describe('what a model of another server thought [requests.native]', () => {
  it('is not in a message for a server that would want its signature, and every other byte is', () => {
    const user = '{"role":"user","content" : "\\"thinking\\""}';
    const call =
      '{"type":"tool_use","id":"a","name":"f","input":{"n":12345678901234567890, "x": 1.0}}';
    const signed = '{"type":"thinking","thinking":"Hm.","signature":"c2ln"}';
    const ours = '{"type":"thinking","thinking":"Lamps.","signature":""}';
    const bare = '{"type":"thinking","thinking":"Lamps."}';
    const turn = (...blocks: string[]) => `{"role":"assistant", "content": [${blocks.join(',')}]}`;
    const of = (...turns: string[]) =>
      `{"model":"m", "messages":[${turns.join(',')}],"max_tokens":9}`;
    expect(withoutUnsigned(of(user, turn(ours, call), user))).toBe(of(user, turn(call), user));
    expect(withoutUnsigned(of(user, turn(ours, bare), user))).toBe(of(user, user));
    const kept = of(user, turn(signed, call), '{"role":"assistant","content":"thinking"}');
    expect(withoutUnsigned(kept)).toBe(kept);
    expect(withoutUnsigned('{"messages":"thinking"}')).toBe('{"messages":"thinking"}');
  });

  it('is not in an input for a server that would look it up, and what that sealed or an open one wrote is', () => {
    const user = '{"role":"user","content":"1.0"}';
    const ours = `{"type":"reasoning","id":"rs_${ULID}_0","summary":[],"content":[{"type":"reasoning_text","text":"Lamps."}]}`;
    const named =
      '{"type":"reasoning","id":"rs_68af","summary":[{"type":"summary_text","text":"Lamps."}]}';
    const sealed = '{"type":"reasoning","id":"rs_68af","summary":[],"encrypted_content":"gAAAA"}';
    const open =
      '{"type":"reasoning","id":"rs_of_vllm","summary":[],"content":[{"type":"reasoning_text","text":"x"}]}';
    const of = (...items: string[]) => `{"model":"m", "input": [${items.join(',')}]}`;
    expect(withoutUnsealed(of(user, ours, named, user))).toBe(
      `{"model":"m", "input": [${user},${user}]}`,
    );
    const kept = of(user, sealed, open);
    expect(withoutUnsealed(kept)).toBe(kept);
    expect(withoutUnsealed('{"input":"\\"reasoning\\""}')).toBe('{"input":"\\"reasoning\\""}');
  });
});

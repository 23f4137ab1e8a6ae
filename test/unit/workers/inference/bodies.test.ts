import { describe, expect, it } from 'vitest';
import { asked, upstreamBody } from '#workers/inference/bodies.ts';

describe('the body that an upstream gets', () => {
  it('has null for an empty content of an assistant, and every other byte as it came', () => {
    const sent = (body: string, developerRole?: boolean) =>
      upstreamBody(
        body,
        'chat.completions',
        { endpoint: { ...(developerRole !== undefined && { developerRole }) }, model: 'm' },
        false,
      );
    const body = (role: string, content: string) =>
      `{"model":"m","messages": [{"role":"${role}","content":"\\"content\\":[] 1.0"},` +
      ` {"content": ${content} ,"role":"assistant","tool_calls":[{"id":1.0}]}]}`;
    expect(sent(body('developer', '[ ]'))).toBe(body('developer', 'null'));
    expect(sent(body('developer', '[ ]'), false)).toBe(body('system', 'null'));
    expect(sent(body('developer', '[{}]'))).toBe(body('developer', '[{}]'));
  });

  it('has nothing of what the gateway notes of the names of tools', () => {
    const body =
      '{"messages":[{"role":"assistant","content":"docket_tool_names"}],"docket_tool_names":[["a_b","a.b"]]}';
    for (const reasoningContent of [true, false]) {
      const { body: sent } = asked('messages', body, { reasoningContent });
      expect(JSON.parse(sent)).toEqual({
        messages: [{ role: 'assistant', content: 'docket_tool_names' }],
      });
    }
  });
});

import { WEBHOOK_EVENTS, webhookBody, type WebhookType } from '#shared/accounts/webhook-events.ts';

/** When the events of the examples happened. */
const AT = Date.UTC(2026, 10, 30, 9, 30);

/** Every event with when it is sent, and the body of a message of it. */
export function webhookExamples(): string {
  const each = Object.entries(WEBHOOK_EVENTS) as [WebhookType, { when: string; example: never }][];
  return each
    .map(([type, { when, example }]) => {
      const body = webhookBody(
        { orgId: 'org_01M7W53ZF4Z6X0T8WB5N2K9MVC', type, data: example },
        AT,
      );
      return `### \`${type}\`\n\n${when}\n\n\`\`\`json\n${JSON.stringify(JSON.parse(body), null, 2)}\n\`\`\``;
    })
    .join('\n\n');
}

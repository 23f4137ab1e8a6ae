import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { handle, type InferenceDeps } from '#api/inference/handle.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { DashboardDeps } from '../deps.ts';
import { type Form, formIn } from '../forms.ts';
import {
  errorPageAnswer,
  foreignForm,
  HTML_TYPE,
  inFrame,
  lostBy,
  PRIVATE,
  seeOther,
  sendError,
  strictTransport,
} from '../guard.ts';
import { PageError } from '../page-error.ts';
import { bodyOf } from './call.ts';
import { playgroundCaller, SignedOut } from './caller.ts';
import { fieldsIn, type Ran } from './page.ts';
import { playgroundPageOf, ranOf } from './routes.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The form that came without a script. */
    typed: Form | null;
  }
}

/** Longer than prompts that people paste, and no longer than a page can hold. */
const BODY_BYTES_MAX = 2 * 1024 * 1024;

/** Runs of one person that are open at once: two beside each other, in two tabs. Each may hold a model for minutes. */
const OPEN_OF_ONE = 4;
const RETRY_MS = 1_000;

/** The header in which the page's script brings back what a form would. */
const FORM_HEADER = 'x-docket-form';

export interface PlaygroundRunsOptions {
  pages: DashboardDeps;
  inference: InferenceDeps;
}

/**
 * Runs what is asked in the playground, in this process and on the way of every request under `/v1`: the credential is that of
 * a key, and limits, screening, admission, errors, records and receipts are what they are there. What differs is who shows
 * it: a person's session in place of a secret. Pages' places do not bound it, because an answer may take minutes.
 */
export const playgroundRuns: FastifyPluginAsync<PlaygroundRunsOptions> = async (
  app,
  { pages: deps, inference },
) => {
  strictTransport(app, deps.publicUrl);
  app.decorateRequest('visit', null as never);
  app.decorateRequest('membership', null as never);
  app.decorateRequest('pageCallers', null as never);
  app.decorateRequest('typed', null);
  const options = {
    config: { scope: 'inference:write', credentialOf: playgroundCaller(deps) },
    schema: { hide: true, rawBody: Type.Object({}) },
    bodyLimit: BODY_BYTES_MAX,
  } as const;
  const demandToken = async (request: FastifyRequest, given: string): Promise<void> => {
    const signIn = await deps.signIn();
    if (!signIn.isFormToken(`session ${request.visit.session.id}`, given)) throw foreignForm();
  };
  const open = new Map<string, number>();
  const run = (request: FastifyRequest, reply: FastifyReply) => {
    hold(open, request.visit.person.id, reply);
    return handle(inference, 'chat.completions', request, reply);
  };

  await app.register(async (forScript) => {
    tellScript(forScript);
    forScript.addHook('preHandler', async (request) => {
      const given = request.headers[FORM_HEADER];
      await demandToken(request, typeof given === 'string' ? given : '');
    });
    forScript.post('/dashboard/:org/playground/run', options, (request, reply) => {
      // A proxy or a browser keeps no answer.
      void reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
      return run(request, reply);
    });
  });

  await app.register(async (forForm) => {
    takeAsBody(forForm);
    forForm.addHook('preHandler', (request) =>
      demandToken(request, request.typed?.exact('form') ?? ''),
    );
    showAsPage(forForm, deps);
    forForm.post('/dashboard/:org/playground', options, run);
  });
};

/**
 * Counts a run of a person until its connection is done with it.
 * @throws Fault when they have as many as they may
 */
function hold(open: Map<string, number>, id: string, { raw }: FastifyReply): void {
  const held = open.get(id) ?? 0;
  if (held >= OPEN_OF_ONE) {
    throw new Fault('requests_per_second_exceeded', {
      message: `You have ${OPEN_OF_ONE} runs open. Stop one, or wait for one to end.`,
      retryAfterMs: RETRY_MS,
    });
  }
  if (raw.destroyed) return;
  open.set(id, held + 1);
  raw.once('close', () => {
    const left = open.get(id)! - 1;
    if (left === 0) open.delete(id);
    else open.set(id, left);
  });
}

/** What is no refusal of the api itself is told the script in words. */
function tellScript(app: FastifyInstance): void {
  app.setErrorHandler((thrown: Error, _request, reply) => {
    const { status, title, message } = inWords(thrown);
    return reply
      .code(status)
      .headers({ 'cache-control': 'no-store' })
      .type('application/json; charset=utf-8')
      .send(JSON.stringify({ error: { title, message } }));
  });
}

/** @throws what the api answers as it does everywhere */
function inWords(thrown: Error): PageError {
  const error = lostBy(thrown) ?? thrown;
  if (error instanceof PageError) return error;
  throw error;
}

/** Takes the page's form for the body that it makes. */
function takeAsBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (request, text, done) => {
      try {
        request.typed = formIn(text as string);
        // Without a script, the whole answer is the page.
        const made = bodyOf({ ...fieldsIn(request.typed), stream: false });
        if ('problem' in made) throw new Fault('invalid_request', { message: made.problem });
        const rawBody = Buffer.from(JSON.stringify(made.body));
        done(null, { rawBody, bytes: rawBody.length });
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

/** Draws what the api answers, an answer or an error, as the page with what was typed. */
function showAsPage(app: FastifyInstance, deps: DashboardDeps): void {
  app.setErrorHandler((thrown: Error, request, reply) => {
    const { org } = request.params as { org: string };
    if (thrown instanceof SignedOut) {
      const to = encodeURIComponent(`/dashboard/${org}/playground`);
      return seeOther(reply, `/dashboard/sign-in?to=${to}`);
    }
    return sendError(inWords(thrown), request, reply, deps.supportEmail);
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const isJson = /^application\/json\b/.test(String(reply.getHeader('content-type')));
    if (!isJson || (typeof payload !== 'string' && !Buffer.isBuffer(payload))) return payload;
    void reply.headers(PRIVATE).type(HTML_TYPE);
    try {
      return await pageOf(deps, request, payload.toString());
    } catch (error) {
      // Of a hook that throws, Fastify would show the message under the type of a page.
      deps.onFailure(error, request);
      const { status, body } = errorPageAnswer(new Fault('internal_error'), request.id);
      void reply.code(status);
      return body;
    }
  });
}

/** What the api has answered, as a page. */
async function pageOf(
  deps: DashboardDeps,
  request: FastifyRequest,
  answer: string,
): Promise<string> {
  const { fault, typed } = request;
  // Refused before it was known who asks, or what.
  if ((request.visit as unknown) === null || typed === null)
    return errorPageAnswer(fault ?? new Fault('internal_error'), request.id).body;
  const ran: Ran = fault === null ? await ranOf(deps, request, answer) : fault;
  const { person, session } = request.visit;
  const staff = session.organisation === null ? await deps.persons.staffRoles(person.id) : [];
  request.visit = { ...request.visit, staff };
  const page = await playgroundPageOf(deps, request, { fields: fieldsIn(typed), ran });
  return (await inFrame(deps, request, page)).text;
}

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { REASON_LENGTH_MAX } from '#shared/accounts/audit/entry.ts';
import type { StagedList } from '#shared/accounts/sanctions/listed.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { printable } from '#shared/kernel/plain-text.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf, Form } from '../forms.ts';
import {
  type PageExchange,
  refusalOf,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
  staffActorOf,
} from '../guard.ts';
import { notFound, PageError } from '../page-error.ts';
import type { Told } from '../parts/elements.ts';
import { confirmedForm } from '../session/confirmation.ts';
import { SANCTIONS_ADDRESS, SANCTIONS_DONE, sanctionsPage, stagedPage } from './page.ts';
import { readUpload } from './upload.ts';

/** Versions of lists: the newest ones, the current ones among them. */
const LISTS_SHOWN = 20;
const FILE_NAME_MAX = 200;

type OfList = { Params: { id: string } };

/** Sanctions lists: which there are, and the way of a new one from its file to being current. */
export function sanctionsRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  // The files of a form are read by its route, once its person is known.
  app.addContentTypeParser('multipart/form-data', (_request, _payload, done) => done(null));
  let isReading = false;
  app.get('/sanctions', SESSION, (request, reply) =>
    showAll(deps, [request, reply], doneOf(request, SANCTIONS_DONE)),
  );
  app.get<OfList>('/sanctions/:id', SESSION, (request, reply) =>
    showOne(deps, [request, reply], {}),
  );
  app.post('/sanctions', SESSION, async (request, reply) => {
    // One at a time in a process: each takes room on its disk, and a connection to PostgreSQL.
    if (isReading) throw new PageError(429, 'Another list is being read', 'Wait a minute.');
    isReading = true;
    const directory = await mkdtemp(join(tmpdir(), `docket-sanctions-${process.pid}-`));
    try {
      const id = await stage(deps, request, directory);
      return await seeOther(reply, `${SANCTIONS_ADDRESS}/${id}`);
    } catch (error) {
      if (error instanceof PageError) throw error;
      const { message, status } = refusalOf(error);
      return await showAll(
        deps,
        [request, reply],
        { problem: `Nothing was kept. ${message}` },
        status,
      );
    } finally {
      isReading = false;
      await rm(directory, { recursive: true, force: true });
    }
  });
  app.post<OfList>('/sanctions/:id/apply', SESSION, async (request, reply) => {
    const form = await confirmedForm(deps, request);
    const { id } = await find(deps, request);
    const reason = form.note('reason', REASON_LENGTH_MAX);
    try {
      await deps.sanctions.apply(id, {
        ...staffActorOf(request),
        ...(reason !== '' && { reason }),
      });
    } catch (error) {
      const { message, status } = refusalOf(error);
      return showOne(deps, [request, reply], { problem: `Nothing was done. ${message}` }, status);
    }
    return seeOther(reply, `${SANCTIONS_ADDRESS}?done=applied`);
  });
  app.post<OfList>('/sanctions/:id/discard', SESSION, async (request, reply) => {
    await sessionForm(deps, request);
    await deps.sanctions.discard((await find(deps, request)).id);
    return seeOther(reply, `${SANCTIONS_ADDRESS}?done=discarded`);
  });
}

/** Reads the files of the form into a list that waits; returns its id. */
async function stage(
  deps: DashboardDeps,
  request: FastifyRequest,
  directory: string,
): Promise<string> {
  const accept = async (form: Form): Promise<void> => {
    request.body = form;
    await sessionForm(deps, request);
  };
  // Without a file a browser may send a form of the other kind.
  if (request.body instanceof Form) await accept(request.body);
  const files =
    request.body instanceof Form ? new Map() : await readUpload(request, directory, accept);
  const list = files.get('list');
  if (list === undefined) throw new Fault('invalid_file', { message: 'Choose a file.' });
  const file = await deps.openSanctionsFile(list.path, files.get('aliases')?.path);
  const fileName = printable(list.name).slice(0, FILE_NAME_MAX);
  const upload = { ...file, entities: file.entities(), fileName };
  return deps.sanctions.stage(upload, staffActorOf(request));
}

/** The list in the address that waits. */
async function find({ sanctions }: DashboardDeps, request: FastifyRequest): Promise<StagedList> {
  const { id } = request.params as OfList['Params'];
  const found = (await sanctions.staged()).find((each) => each.id === id);
  if (found === undefined) throw notFound();
  return found;
}

async function showAll(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  said: Told,
  status = 200,
): Promise<FastifyReply> {
  const [all, staged] = await Promise.all([deps.sanctions.lists(), deps.sanctions.staged()]);
  const lists = all.filter(({ current }, index) => current || index < LISTS_SHOWN);
  const names = await deps.persons.names([
    ...lists.map(({ importedBy }) => importedBy),
    ...staged.map(({ uploadedBy }) => uploadedBy),
  ]);
  return sendFramed(deps, [request, reply], {
    title: 'Sanctions lists',
    section: 'sanctions',
    status,
    body: (frame) => sanctionsPage(frame, { lists, staged, names, ...said }),
  });
}

async function showOne(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  said: Told,
  status = 200,
): Promise<FastifyReply> {
  const list = await find(deps, request);
  const names = await deps.persons.names([list.uploadedBy]);
  const organisations = new Map<string, string>();
  for (const { orgId } of list.preview?.matches ?? []) {
    organisations.set(orgId, (await deps.accounts.get(orgId)).name);
  }
  return sendFramed(deps, [request, reply], {
    title: list.source,
    section: 'sanctions',
    status,
    body: (frame) => stagedPage(frame, { list, names, organisations, ...said }),
  });
}

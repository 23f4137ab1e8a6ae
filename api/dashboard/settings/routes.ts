import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { REGION_WORDS } from '#api/front/status-page.ts';
import { type Account, type Allowed, widens } from '#shared/accounts/account.ts';
import { isOpenTo } from '#shared/catalogue/routing.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { Attempts } from '#shared/persons/postgres/persons.ts';
import type { Act } from '#shared/persons/roles.ts';
import { confirmedForm } from '../session/confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf, type Form } from '../forms.ts';
import {
  actorOf,
  demandRight,
  type PageExchange,
  refusalOf,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
} from '../guard.ts';
import { type Choice, settingsPage, type SettingsForm, type SettingsParts } from './page.ts';

const DONE: Readonly<Record<SettingsForm, string>> = {
  use: 'Regions and models saved. They apply to every request within a second.',
  names: 'Name and identifier saved.',
  contacts:
    'Contacts saved. Of a new address, the one before it gets an e-mail, and the new one is asked to confirm: that of an applicant once it is approved.',
  tags: 'Tags saved. Requests are counted by them within a second.',
  keep: 'Saved. Every process knows within a second.',
  playground: 'Saved. It holds from the next run on.',
  close: 'Support has been asked to close the organisation. Nothing changes until it does.',
};

const RIGHTS: Readonly<Record<SettingsForm, Act>> = {
  use: 'change settings',
  names: 'change settings',
  contacts: 'change settings',
  tags: 'change settings',
  keep: 'have responses kept',
  playground: 'switch the playground',
  close: 'ask for closing',
};

/** What members of an organisation decide for all of it. */
export function settingsRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/settings', SESSION, (request, reply) =>
    show(deps, [request, reply], doneOf(request, DONE)),
  );
  const save = (
    name: SettingsForm,
    perform: (request: FastifyRequest, form: Form) => Promise<unknown>,
  ): void => {
    app.post(`/settings/${name}`, SESSION, async (request, reply) => {
      demandRight(request.membership, RIGHTS[name]);
      const form = await sessionForm(deps, request);
      try {
        await perform(request, form);
      } catch (error) {
        const { message, status } = refusalOf(error);
        const typed = {
          form: name,
          name: (field: string) => form.text(field),
          ...(name === 'use' && { allowed: allowedFrom(form) }),
        };
        const problem = `${name === 'close' ? 'Nothing was asked' : 'Nothing was saved'}. ${message}`;
        return show(deps, [request, reply], { problem, typed }, status);
      }
      return seeOther(reply, `/dashboard/${request.membership.orgId}/settings?done=${name}`);
    });
  };
  save('use', async (request, form) => {
    const { orgId } = request.membership;
    const allowed = allowedFrom(form);
    const before = await deps.accounts.get(orgId);
    if (widens(before, allowed)) await confirmedForm(deps, request);
    return deps.accounts.setAllowed(orgId, allowed, actorOf(request), before);
  });
  save('names', async (request, form) => {
    const { orgId } = request.membership;
    const name = form.text('name');
    const identifier = form.text('identifier') || null;
    return deps.accounts.setNames(orgId, { name, identifier }, actorOf(request));
  });
  save('contacts', async (request, form) => {
    // Letters warn of what others do here: who redirects them has shown who they are.
    await confirmedForm(deps, request);
    const contact = (kind: string) => ({
      name: form.text(`${kind}-name`),
      email: form.text(`${kind}-email`),
    });
    const contacts = { billing: contact('billing'), technical: contact('technical') };
    return deps.accounts.setContacts(request.membership.orgId, contacts, actorOf(request));
  });
  save('tags', async (request, form) => {
    const keys = form
      .text('tags')
      .split(/[\s,]+/u)
      .filter((key) => key !== '');
    return deps.accounts.setTags(request.membership.orgId, keys, actorOf(request));
  });
  save('keep', async (request, form) => {
    const chosen = form.text('keep');
    if (chosen !== 'on' && chosen !== 'off')
      throw invalidParam('keep', 'Say whether responses are kept or not.');
    const keeps = chosen === 'on';
    if (keeps) await confirmedForm(deps, request);
    return deps.accounts.setKeepResponses(request.membership.orgId, keeps, actorOf(request));
  });
  save('playground', async (request, form) => {
    const chosen = form.text('playground');
    if (chosen !== 'on' && chosen !== 'off')
      throw invalidParam('playground', 'Say whether the playground is on or off.');
    const isOn = chosen === 'on';
    if (isOn) await confirmedForm(deps, request);
    return deps.accounts.setPlayground(request.membership.orgId, isOn, actorOf(request));
  });
  save('close', async (request, form) => {
    const { orgId } = request.membership;
    if ((await deps.takeAttempt(`closing of ${orgId}`, CLOSING_ASKED)) > 0) {
      throw new Fault('invalid_account_state', { message: 'Support has already been asked.' });
    }
    const reason = form.note('reason');
    const link = `${new URL(deps.publicUrl).origin}/dashboard/service/accounts/${orgId}`;
    const asked = { actor: actorOf(request), reason, to: deps.supportEmail, link };
    return deps.accounts.askToClose(orgId, asked);
  });
}

/** E-mails to support about one organisation. */
const CLOSING_ASKED: Attempts = { burst: 2, intervalMs: DAY_MS };

function allowedFrom(form: Form): Allowed {
  const from = (name: string): string[] | null =>
    form.text(`${name}-which`) === 'some' ? form.all(name) : null;
  return { allowedRegions: from('regions'), allowedModels: from('models') };
}

async function show(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  parts: Pick<SettingsParts, 'problem' | 'done' | 'typed'>,
  status = 200,
): Promise<FastifyReply> {
  const { orgId } = request.membership;
  const [account, contract] = await Promise.all([
    deps.accounts.get(orgId),
    deps.accounts.contract(orgId),
  ]);
  const unconfirmed = await deps.accounts.unconfirmedContacts(account);
  const closedReadDays = deps.closedReadMs / DAY_MS;
  const offered = choicesFor(deps.index(), account);
  return sendFramed(deps, [request, reply], {
    title: 'Settings',
    section: 'settings',
    status,
    body: (frame) =>
      settingsPage(frame, { account, unconfirmed, contract, closedReadDays, ...offered, ...parts }),
  });
}

/** What an organisation may choose from: what is open to it, and what it has chosen once and is gone. */
function choicesFor(
  { regions, models }: RoutingIndex,
  account: Account,
): { regions: Choice[]; models: Choice[] } {
  const asked = { orgId: account.id, plan: account.plan };
  const { allowedRegions, allowedModels } = account;
  return {
    regions: withGone(
      [...regions.values()]
        .filter((region) => isOpenTo(region, asked))
        .map(({ code, name, zone, status }) => ({
          id: code,
          name,
          help: `Grid zone ${zone}`,
          warning: status === 'normal' ? undefined : REGION_WORDS[status][1],
        })),
      allowedRegions,
    ),
    models: withGone(
      [...models.values()]
        .filter(({ model }) => isOpenTo(model, asked))
        .map(({ model, byRegion }) => {
          const codes = [...byRegion.values()]
            .filter(({ region }) => isOpenTo(region, asked))
            .map(({ region }) => region.code);
          const isReached = codes.some((code) => allowedRegions?.includes(code) ?? true);
          return {
            id: model.id,
            name: model.id,
            help: codes.length === 0 ? 'In no region now' : `In ${codes.join(', ')}`,
            warning: isReached ? undefined : 'in none of your regions',
          };
        }),
      allowedModels,
    ),
  };
}

function withGone(choices: readonly Choice[], allowed: readonly string[] | null): Choice[] {
  const known = new Set(choices.map(({ id }) => id));
  const gone = (allowed ?? []).filter((id) => !known.has(id));
  return [...choices, ...gone.map((id) => ({ id, name: id, warning: 'no longer offered' }))];
}

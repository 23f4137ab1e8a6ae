import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { json, jsonBody } from '#api/docs/operation.ts';
import { lineOfText, Nullable } from '#api/routes/fields.ts';
import { SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import type { AuditLog } from '#shared/accounts/postgres/audit.ts';
import { REGION_STATUSES } from '#shared/catalogue/catalogue.ts';
import type { RegionStatusStore } from '#shared/catalogue/redis/region-status.ts';
import { setRegion } from '#shared/catalogue/set-region.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { timeText } from '#shared/kernel/time.ts';
import { OPERATOR, operatorOf, REASONED } from './fields.ts';

const Region = Type.Object(
  {
    code: Type.String(),
    name: Type.String(),
    status: Type.String({ enum: [...REGION_STATUSES], description: 'That holds' }),
    catalogue_status: Type.String({ enum: [...REGION_STATUSES] }),
    is_set: Type.Boolean({ description: 'Whether an operator has set it' }),
    note: Nullable(Type.Object({ text: Type.String(), at: Type.String() })),
  },
  { title: 'Region' },
);
const Regions = Type.Object({ object: Type.Literal('list'), data: Type.Array(Region) });
const SHOWN: Static<typeof Region> = {
  code: 'eu-west',
  name: 'Western Europe',
  status: 'degraded',
  catalogue_status: 'normal',
  is_set: true,
  note: { text: 'A cooling loop is repaired.', at: '2026-11-20T10:00:00.000Z' },
};
const Params = Type.Object({
  code: Type.String({ maxLength: 64, description: 'Code of the region', examples: ['eu-west'] }),
});
const SetBody = Type.Object(
  {
    status: Type.Enum([...REGION_STATUSES, 'catalogue'], {
      description: 'Holds until it is set again; `catalogue` for what that says',
    }),
    note: Type.Optional(
      Nullable(lineOfText(2_000, 'What everyone is told at /status until the region is normal')),
    ),
    ...REASONED,
  },
  { additionalProperties: false },
);

export interface RegionRoutesOptions {
  regionStatuses: Pick<RegionStatusStore, 'list' | 'set' | 'notes' | 'setNote'>;
  /** The catalogue as it is now. */
  index: () => RoutingIndex;
  audit: Pick<AuditLog, 'append'>;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Regions, as `docket regions` sets them. */
export const regionRoutes: FastifyPluginAsyncTypebox<RegionRoutesOptions> = async (
  app,
  { regionStatuses, index, audit, now },
) => {
  const read = async (): Promise<Static<typeof Region>[]> => {
    const [set, notes] = await Promise.all([regionStatuses.list(), regionStatuses.notes()]);
    return [...index().regions.values()].map(({ code, name, status }) => {
      const note = notes.get(code);
      return {
        code,
        name,
        status: set.get(code) ?? status,
        catalogue_status: status,
        is_set: set.has(code),
        note: note === undefined ? null : { text: note.text, at: timeText(note.at) },
      };
    });
  };
  app.get(
    '/regions',
    {
      config: OPERATOR,
      schema: {
        operationId: 'listRegions',
        tag: 'Regions',
        summary: 'List regions',
        description: 'Those of the catalogue, with their status now.',
        response: {
          200: json('All regions.', Regions, { regions: { object: 'list', data: [SHOWN] } }),
        },
      },
    },
    async () => ({ object: 'list' as const, data: await read() }),
  );
  app.put(
    '/regions/:code',
    {
      config: OPERATOR,
      schema: {
        operationId: 'setRegion',
        tag: 'Regions',
        summary: 'Set a region’s status',
        description:
          'Every process knows within about a second. It is written down after it is done: an incident does not wait for a log.',
        params: Params,
        ...jsonBody(SetBody, {
          'Take it away': { status: 'degraded', reason: 'Upstream is down' },
          'As the catalogue says': { status: 'catalogue', reason: 'Upstream is back' },
        }),
        response: { 200: json('The region, as it now is.', Region, { region: SHOWN }) },
        patternedErrors: ['region_not_found', 'invalid_reason'],
      },
    },
    async (request) => {
      const { code } = request.params;
      const { status, note } = request.body;
      // That the person still works for the service was looked at with the key; the log is not asked whether it may be written.
      const { allowedBy: _lookedAt, ...actor } = operatorOf(request);
      if (!index().regions.has(code)) throw new Fault('region_not_found');
      const details = await setRegion(regionStatuses, code, { status, note, at: now() });
      await audit.append({
        orgId: SERVICE_CHAIN,
        action: 'region.set',
        subject: code,
        actor,
        details,
      });
      return (await read()).find((region) => region.code === code)!;
    },
  );
};

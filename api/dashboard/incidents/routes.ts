import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  checkComponents,
  checkIncidentText,
  checkIncidentTitle,
  componentsOf,
} from '#shared/catalogue/service-history.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf } from '../forms.ts';
import { seeOther, sendFramed, SESSION, sessionForm, staffActorOf } from '../guard.ts';
import { notFound } from '../page-error.ts';
import { incidentsPage, type IncidentsParts } from './page.ts';

const DONE = {
  opened: 'Incident told. It stands at /status within a minute.',
  said: 'Told. It stands at /status within a minute.',
};

/** What operators tell everyone of incidents. */
export function incidentRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const { statusHistory } = deps;
  const known = (): Map<string, string> => {
    const { regions } = deps.index();
    return new Map(
      componentsOf(regions.values()).map((component) => {
        const region = regions.get(component.slice('region:'.length));
        return [component, region === undefined ? 'Ledger' : `${region.name}, ${region.code}`];
      }),
    );
  };
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    parts: Pick<IncidentsParts, 'problem' | 'done' | 'typed' | 'more'>,
    status = 200,
  ): Promise<FastifyReply> => {
    const incidents = await statusHistory.incidents();
    return sendFramed(deps, [request, reply], {
      title: 'Incidents',
      section: 'incidents',
      status,
      body: (frame) => incidentsPage(frame, { incidents, known: known(), ...parts }),
    });
  };
  const refused = (error: unknown): Fault => {
    if (error instanceof Fault && error.status < 500) return error;
    throw error;
  };
  app.get('/incidents', SESSION, (request, reply) => show(request, reply, doneOf(request, DONE)));
  app.post('/incidents', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    const asked = form
      .entries()
      .filter(([name]) => name === 'component')
      .map(([, value]) => value);
    const typed = { title: form.text('title'), text: form.text('text'), components: asked };
    try {
      const incident = {
        title: checkIncidentTitle(typed.title),
        text: checkIncidentText(typed.text),
        components: checkComponents(asked, [...known().keys()]),
        beganAt: deps.now(),
      };
      await statusHistory.open(incident, staffActorOf(request));
    } catch (error) {
      const { message, status } = refused(error);
      return show(request, reply, { problem: `Nothing was told. ${message}`, typed }, status);
    }
    return seeOther(reply, '/dashboard/service/incidents?done=opened');
  });
  app.post<{ Params: { id: string } }>('/incidents/:id', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    const { id } = request.params;
    const more = { id, text: form.text('text'), isOver: form.text('over') === 'yes' };
    try {
      const said = { text: checkIncidentText(more.text), isOver: more.isOver };
      if (!(await statusHistory.say(id, said, staffActorOf(request)))) throw notFound();
    } catch (error) {
      const { message, status } = refused(error);
      return show(request, reply, { problem: `Nothing was told. ${message}`, more }, status);
    }
    return seeOther(reply, '/dashboard/service/incidents?done=said');
  });
}

import { html, type Html } from '#api/html.ts';
import { may, type Membership } from '#shared/persons/roles.ts';

/** Where nothing is by tag, because none is declared: how that comes, and who can change it. */
export function noTags(membership: Membership): Html {
  const address = `/dashboard/${membership.orgId}/settings#tags`;
  return html`<p class="soft small">
    No tag is declared, so requests are not told apart by what callers write in their
    <code>metadata</code>, such as team or project.
    ${
      may(membership, 'change settings')
        ? html`<a href="${address}">Declare tags</a>.`
        : html`Owners and admins declare tags, under <a href="${address}">Settings</a>.`
    }
  </p>`;
}

import { html, type Html } from '#api/html.ts';
import { estimateCards } from '#api/dashboard/parts/figures.ts';
import { RECEIPT } from '#api/docs/examples/receipts.ts';
import type { QuantityName } from '#shared/methodology/measurement.ts';

export interface LandingParts {
  /** Where the service answers, without a path. */
  origin: string;
  model: string | undefined;
  hasDashboard: boolean;
  supportEmail: string;
}

/** What this is, for a reader who has just heard of it. */
export function landingPage(parts: LandingParts): Html {
  return html`<section class="stack">
      <h1 class="big">Inference with a receipt</h1>
      <p class="prose lead">
        An OpenAI-compatible API. Every answer comes with a signed receipt: the energy, greenhouse
        gas, water, minerals and fossil energy that it took, each with its interval, how it was
        computed, and its place in a ledger in which nothing can be changed unseen, by us included.
      </p>
      <div class="row">
        ${
          parts.hasDashboard
            ? html`<a class="button primary" href="/dashboard">Sign in</a>`
            : undefined
        }
        <a class="button" href="/docs">Read the API’s documentation</a>
      </div>
    </section>
    ${ask(parts)} ${answered()} ${check(parts)} ${places(parts)}`;
}

function ask({ origin, model = 'your-model', hasDashboard, supportEmail }: LandingParts): Html {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  const curl = `curl ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer $DOCKET_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${body}'`;
  return html`<section class="stack tight">
    <h2>Ask as you do now</h2>
    <p class="prose">
      Chat, completions, responses and embeddings, streamed or whole: the client libraries that you
      have, with another base URL, <code>${origin}/v1</code>.
    </p>
    <pre id="curl" tabindex="0">${curl}</pre>
    <p class="row">
      <button type="button" hidden data-copy="curl">Copy</button>
      <span class="soft"
        >${
          hasDashboard
            ? html`<a href="/dashboard/sign-up">Sign up</a> and apply for a key, or open the
                <a href="/dashboard">dashboard</a>. Questions go to ${mail(supportEmail)}.`
            : html`For a key write to ${mail(supportEmail)}.`
        }</span
      >
    </p>
  </section>`;
}

const mail = (address: string): Html => html`<a href="mailto:${address}">${address}</a>`;

/** The receipt of the documentation, as people read it. */
function answered(): Html {
  const { result, dataQuality } = RECEIPT.measurement;
  return html`<section class="stack tight">
    <h2>What comes back with the answer</h2>
    <p class="prose">
      The answer is what OpenAI’s would be, with <code>receipt</code> beside it. Of an answer of
      ${RECEIPT.credentialSubject.outputTokens} tokens by
      <code>${RECEIPT.credentialSubject.model}</code> it says, for example:
    </p>
    ${estimateCards(result.map((each) => [each.quantityKind as QuantityName, each] as const))}
    <p class="soft small">
      Brackets are 5–95 % intervals; quality of the data ${dataQuality}. The receipt names the model
      record, grid factor, site and hardware that the figures come from, each with its source.
    </p>
  </section>`;
}

function check({ origin }: LandingParts): Html {
  return html`<section class="stack tight">
    <h2>Check it without trusting us</h2>
    <p class="prose">
      A receipt is a W3C Verifiable Credential. The keys are public, the method and its factors are
      too, and every organisation’s receipts are leaves of a Merkle tree whose signed heads anyone
      can keep. Evidence packs for auditors verify offline.
    </p>
    <pre id="verify" tabindex="0">
curl -s ${origin}/.well-known/did.json > did.json
docket verify receipt.json --trust did.json</pre>
    <div><button type="button" hidden data-copy="verify">Copy</button></div>
  </section>`;
}

function places({ hasDashboard }: LandingParts): Html {
  const all: readonly (readonly [string, string, string])[] = [
    ['/docs', 'Documentation', 'every operation, with examples and errors'],
    ['/docs/guides', 'Guides', 'how to call it, judge its evidence, and run it'],
    ...(hasDashboard
      ? ([['/dashboard', 'Dashboard', 'receipts, usage, keys, exports and the ledger']] as const)
      : []),
    ['/verify', 'Verify', 'check a receipt or a pack in your browser; nothing is sent'],
    ['/status', 'Status', 'how each region is at this moment'],
    ['/methodologies', 'Methodologies', 'the formulas and factor sets, each version for ever'],
    ['/.well-known/did.json', 'Keys', 'what receipts are verified with'],
    ['/openapi.json', 'OpenAPI', 'the API’s description for programs'],
  ];
  return html`<section class="stack tight">
    <h2>Where to go</h2>
    <dl class="facts">
      ${all.map(
        ([address, name, what]) =>
          html`<dt><a href="${address}">${name}</a></dt>
            <dd>${what}</dd>`,
      )}
    </dl>
  </section>`;
}

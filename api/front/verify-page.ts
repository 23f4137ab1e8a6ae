import { html, type Html } from '#api/html.ts';
import { SAMPLE_SIZE, SAMPLE_SIZE_MAX } from '#cli/auditing/draw.ts';

/** Checks a receipt or a pack in the reader's own browser. */
export function verifyPage(origin: string): Html {
  return html`<div class="head"><h1>Verify</h1></div>
    <p class="prose">
      Choose a receipt, an answer that carries one, an evidence pack, a checkpoint, or an audit log
      with its checkpoint (or with the address of its page below, whose checkpoint is then asked
      for). It is checked in this browser, by the code of
      <code>docket verify</code>; nothing of it is sent anywhere.
    </p>
    <noscript>
      <div class="note warn">
        <p>
          <strong>Checking here needs JavaScript.</strong> Without it use
          <code>docket verify receipt.json --trust did.json</code>, which says the same.
        </p>
      </div>
    </noscript>
    <form
      class="stack"
      id="verify"
      method="post"
      data-verifier="/verify/docket-verify.js"
      data-host="${new URL(origin).host}"
      hidden
    >
      <section class="stack tight">
        <h2>What is to be checked</h2>
        <div class="drop" id="drop">
          <label for="file"
            >A receipt (<code>.json</code>) or a pack (<code>.zip</code>), or files that belong
            together; drop them here, or</label
          >
          <input
            id="file"
            name="file"
            type="file"
            multiple
            accept=".json,.ndjson,.zip,.txt,application/json,application/zip"
          />
        </div>
        <details class="act">
          <summary>Or paste a receipt</summary>
          <div class="stack tight">
            <label class="hidden-words" for="text">Receipt, answer or stream</label>
            <textarea id="text" name="text" rows="8" spellcheck="false"></textarea>
          </div>
        </details>
        <div class="field">
          <label for="asked">Or an id or an address</label>
          <input
            id="asked"
            name="asked"
            autocomplete="off"
            spellcheck="false"
            placeholder="rcpt_…, chatcmpl-…, resp_…"
            aria-describedby="asked-help"
          />
          <span class="help" id="asked-help"
            >A receipt, or the page of a pack, a checkpoint or an audit log in the dashboard. Check
            then asks ${origin} for it, with your session in the dashboard or, for receipts, with
            the key below, and sends nothing else.</span
          >
        </div>
        <div class="field">
          <label for="key">A key with the scope <code>service:read</code> (optional)</label>
          <input id="key" name="key" type="password" autocomplete="off" spellcheck="false" />
        </div>
      </section>
      <section class="stack tight">
        <h2>What is compared with the receipt</h2>
        <div class="drop">
          <label for="answer"
            >The answer, or the stream as it was saved, where it lies apart from its receipt
            (optional)</label
          >
          <input id="answer" name="answer" type="file" />
        </div>
        <div class="drop">
          <label for="request">The request as it was sent (optional)</label>
          <input id="request" name="request" type="file" />
        </div>
      </section>
      <section class="stack tight">
        <h2>Whose witnesses a pack must have</h2>
        <div class="drop">
          <label for="policy">A witness policy (C2SP tlog-policy, optional)</label>
          <input id="policy" name="policy" type="file" />
        </div>
      </section>
      <fieldset>
        <legend>Whose keys</legend>
        <div class="choices">
          <label>
            <input type="radio" name="keys" value="ours" checked />
            <span
              >Those of ${origin}
              <span class="help"
                >As this site publishes them now: as good as your trust in this site.</span
              ></span
            >
          </label>
          <label>
            <input type="radio" name="keys" value="own" />
            <span
              >A <code>did.json</code> of your own
              <span class="help"
                >That you fetched from the issuer, or got from someone you trust.</span
              ></span
            >
          </label>
        </div>
      </fieldset>
      <div class="field" id="own-keys" hidden>
        <label for="did">Your did.json</label>
        <input id="did" name="did" type="file" accept=".json,application/json" />
      </div>
      <div class="row">
        <button class="primary" type="submit">Check</button>
        <span class="soft" id="progress" role="status"></span>
        <progress id="bar" aria-label="How much is checked" hidden></progress>
      </div>
      <p class="help" id="kept" hidden>
        This page is kept in this browser now: it works without a network, too.
      </p>
    </form>
    <section class="stack tight" id="result" hidden tabindex="-1" aria-live="polite">
      <h2>Verdict</h2>
      <div class="note" id="verdict">
        <p><strong></strong> <span></span></p>
      </div>
      <pre class="verdict-facts" id="checks" tabindex="0"></pre>
      <div class="stack tight" id="record" hidden>
        <p class="prose">
          Its figures follow from a published record, <code id="record-digest"></code>. The button
          asks ${origin} for it by this digest, and sends nothing else.
        </p>
        <p class="row">
          <button type="button" id="ask-record">
            Fetch the record and compute the figures again
          </button>
        </p>
      </div>
      <details class="act" id="details">
        <summary>What it states to the last digit</summary>
        <pre class="verdict-facts" id="stated" tabindex="0"></pre>
      </details>
      <p class="prose soft" id="shows"></p>
    </section>
    <section class="stack tight" id="sampling" hidden>
      <h2>Draw a sample</h2>
      <p class="prose">
        Receipts to be examined, of each kind (region, tier, quality of data) at least one. Which
        ones follows from the seed and the pack alone: <code>docket sample</code> draws the same.
        The pack is verified again first.
      </p>
      <form class="row end" id="sample">
        <div class="field">
          <label for="size">How many</label>
          <input
            id="size"
            name="size"
            type="number"
            min="1"
            max="${SAMPLE_SIZE_MAX}"
            value="${SAMPLE_SIZE}"
            required
          />
        </div>
        <div class="field grow">
          <label for="seed">Seed, drawn by you (dice, a newspaper of a later day)</label>
          <input
            id="seed"
            name="seed"
            maxlength="128"
            autocomplete="off"
            spellcheck="false"
            placeholder="the root of the pack’s head"
          />
        </div>
        <button type="submit">Draw</button>
      </form>
      <p class="soft" id="drawing" role="status"></p>
      <div class="stack tight" id="drawn" hidden>
        <pre class="verdict-facts" id="drawn-facts" tabindex="0"></pre>
        <p class="row acts">
          <a class="button" id="workpaper-csv" download="workpaper.csv">Download CSV</a>
          <a class="button" id="workpaper-html" download="workpaper.html"
            >Download page with room for findings</a
          >
          <button type="button" id="print">Print</button>
        </p>
        <div class="table scrolls" tabindex="0" role="region" aria-label="Receipts drawn">
          <table>
            <thead>
              <tr>
                ${['Entry', 'Receipt', 'Began', 'Model', 'Region', 'Tier', 'Tokens in', 'Tokens out', 'Energy, kWh', 'Gas, kg CO₂e', 'Rank'].map((name) => html`<th scope="col">${name}</th>`)}
              </tr>
            </thead>
            <tbody id="drawn-rows"></tbody>
          </table>
        </div>
      </div>
    </section>`;
}

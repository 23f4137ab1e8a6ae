import { html, type Html } from '#api/html.ts';

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
    </section>`;
}

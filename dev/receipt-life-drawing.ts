/** The way of a receipt, for renderers of Mermaid (GitHub, GitLab, editors). */
export const DRAWING = `\`\`\`mermaid
flowchart TD
  request["request<br/><small>raw body, salted digest</small>"] --> inference["inference worker<br/><small>answer, tokens, joules, times</small>"]
  inference --> lane(["receipts lane<br/><small>Redis, until the receipt is committed</small>"])
  lane --> estimate{"estimate<br/><small>docket-1 over a frozen factor set</small>"}
  estimate -- "figures with bounds" --> receipt["signed receipt<br/><small>canonical JSON, Ed25519</small>"]
  estimate -- "no size on record" --> degraded["degraded receipt<br/><small>signed too, says why</small>"]
  receipt --> commit[("PostgreSQL, one statement<br/><small>body + promise to integrate</small>")]
  degraded --> commit
  commit --> answer["answer with its receipt"]
  commit --> leaf["leaf of the organisation's log<br/><small>RFC 6962, no gap in the indexes</small>"]
  leaf --> checkpoint["signed checkpoint<br/><small>within ten seconds</small>"]
  checkpoint --> proof["proof of inclusion"]
  checkpoint --> pack["evidence pack<br/><small>the same bytes again</small>"]
  degraded -. "what is owed is in the same statement" .-> recalculation["recalculation worker<br/><small>again and again, then a person</small>"]
  recalculation -- "a new receipt that revises the old" --> commit
  receipt -. "all that the signature pins" .-> lineage["lineage<br/><small>every record, every step</small>"]
\`\`\``;

/** What is durable after each step of the page. */
export const STORED = `## What is stored when, and what if the power fails

| after step | stored | if everything stops here |
| --- | --- | --- |
| 1 | the request on the inference lane (Redis, append-only file) | another worker runs it, if nothing of its answer was sent |
| 2 | the outcome on the receipts lane; it left the inference lane in the same transaction | another receipts worker estimates and signs it; this signature is forgotten |
| 4 | body and promise in PostgreSQL; what is owed to a degraded receipt beside them | the lane delivers again, the primary key refuses a second one, and the stored bytes are sent |
| 5 | entry, tiles and head in one transaction, the promise gone with it | the promise is still there and is kept by the next ledger worker |
| 6 | the checkpoint, remembered outside the database before anybody sees it | a larger one is signed next; a smaller one never |
| 9 | the new body, its promise and the link to the old one, what was owed gone with it, in one statement | either all of it or nothing: then it is still owed, and is tried again |
`;

// Shows the receipt of an answer, and checks it in this browser with the code of `docket verify`. What an answer, a receipt or an
// error says is written as text and never as markup.

/**
 * @param at elements by the names that they have in `data-…`
 * @param text the whole answer, and `request`, the body that was sent: both are compared with the receipt's digests
 * @param verifier the address of the verifier, and `scales`, of how figures are written
 */
export const showReceipt = async (
  at,
  receipt,
  { text: answer, request, verifier: verifierAt, scales },
) => {
  at.receipt.hidden = false;
  // The page that opens takes it from there, and out of there.
  at.toVerify.addEventListener('click', () => {
    sessionStorage.setItem('to-verify', JSON.stringify({ answer, request }));
  });
  at.receiptId.textContent = receipt.id;
  at.receiptTier.textContent = `tier ${receipt.tier}`;
  const results = receipt.measurement?.result ?? [];
  at.figures.hidden = results.length === 0;
  if (receipt.proof === undefined) {
    at.verdict.textContent = receipt.explanation ?? 'It is not signed yet.';
    return;
  }
  try {
    const [{ scaleFor, QUANTITY_TITLES }, verifier, didJson] = await Promise.all([
      import(scales),
      import(verifierAt),
      fetch('/.well-known/did.json').then((reply) => reply.text()),
    ]);
    at.figures.replaceChildren(
      ...results.map(({ quantityKind, value, lower, upper }) => {
        const { unit, text } = scaleFor(quantityKind, value);
        return figure(
          QUANTITY_TITLES[quantityKind],
          text(value),
          unit,
          `[${text(lower)}–${text(upper)}]`,
        );
      }),
    );
    const source = `${location.host}/.well-known/did.json`;
    const judge = async (derivation) => {
      const { verdict, text } = await verifier.verifyReceipt(answer, {
        file: 'receipt',
        trust: { didJson, source, isChosen: true },
        request,
        derivation,
      });
      const [tone, words] = VERDICTS[verdict];
      at.verdict.className = `badge ${tone}`;
      at.verdict.textContent = words;
      at.checks.textContent = text;
    };
    // Asked for by its digest, and by the click alone.
    at.ask.addEventListener('click', () => {
      at.record.hidden = true;
      void judge(verifier.publishedDerivations(didJson));
    });
    await judge(async ({ digest }) => {
      at.recordDigest.textContent = digest;
      at.record.hidden = false;
      return { missing: `${location.host} is asked for it by the button below, and not before` };
    });
  } catch (error) {
    at.verdict.className = 'badge warn';
    at.verdict.textContent = 'The verifier could not be loaded';
    at.checks.textContent = error.message;
  }
};

const VERDICTS = {
  good: ['good', 'Verified in this browser, by the keys that this service publishes'],
  bad: ['bad', 'Does not verify'],
  cannot_judge: ['warn', 'Cannot be judged here'],
};

/** A card of a figure, with its unit and its interval where it has them. */
export const figure = (title, value, unit = '', interval = '') => {
  const place = document.createElement('div');
  const [term, data] = [document.createElement('dt'), document.createElement('dd')];
  term.className = 'soft';
  term.textContent = title;
  const parts = [
    ['value', value],
    ['unit', ` ${unit}`],
    ['soft small interval', interval],
  ].filter(([, text]) => text.trim() !== '');
  for (const [name, text] of parts) {
    const part = document.createElement('span');
    part.className = name;
    part.textContent = text;
    data.append(part);
  }
  place.append(term, data);
  return place;
};

// Follows the proof of a receipt step by step, with the code of `docket verify`, from files that the page has. Without this
// script its button is not shown.
// Headings of guides have ids of their own.
const proof = document.querySelector('#proof[data-verifier]');
if (proof !== null) {
  const [button, said, list] = ['button', '[role=status]', 'ol'].map((name) =>
    proof.querySelector(name),
  );
  const element = (name, props, ...children) => {
    const made = Object.assign(document.createElement(name), props);
    made.append(...children);
    return made;
  };
  const stepOf = ({ title, holds, says, facts }) =>
    element(
      'li',
      {},
      element('strong', { textContent: title }),
      ' ',
      element('span', {
        className: `badge ${holds === null ? 'plain' : holds ? 'good' : 'bad'}`,
        textContent: holds === null ? 'not checked' : holds ? 'holds' : 'does not hold',
      }),
      element('p', { className: 'soft', textContent: says }),
      element(
        'dl',
        { className: 'facts' },
        ...Object.entries(facts).flatMap(([name, value]) => [
          element('dt', { textContent: name }),
          element('dd', {}, element('code', { textContent: value })),
        ]),
      ),
    );
  const textAt = async (address) => {
    const reply = await fetch(address, { cache: 'no-store' });
    if (reply.redirected || !reply.ok)
      throw new Error(`${address} could not be had. Reload the page.`);
    return reply.text();
  };
  button.hidden = false;
  button.addEventListener('click', async () => {
    said.textContent = 'Computing…';
    list.replaceChildren();
    try {
      const [verifier, files, didJson] = await Promise.all([
        import(proof.dataset.verifier),
        textAt(proof.dataset.files),
        textAt('/.well-known/did.json'),
      ]);
      const parts = JSON.parse(files);
      const steps = await verifier.followProof(parts, didJson);
      list.append(...steps.map(stepOf));
      const broken = steps.findIndex(({ holds }) => holds === false);
      const checked = steps.filter(({ holds }) => holds !== null).length;
      const end =
        parts.anchor === undefined
          ? 'ends at the signed head, which is not anchored yet'
          : 'leads to the anchor log';
      said.textContent =
        broken >= 0
          ? `Step ${broken + 1} does not hold: ${steps[broken].title}.`
          : `All ${checked} steps that are checked hold, by the keys that ${location.host} publishes. The way ${end}.`;
    } catch (error) {
      said.textContent = `The proof could not be followed: ${error.message}`;
    }
  });
}

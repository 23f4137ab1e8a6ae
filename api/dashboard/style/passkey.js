const WHY = {
  NotAllowedError: () => 'Nothing was shown, or it took too long. Try again.',
  InvalidStateError: () => 'This device has a passkey for you already.',
  SecurityError: () =>
    `Passkeys belong to a name. Open ${location.href.replace('//127.0.0.1', '//localhost')}`,
};

// Buttons that have the browser make or show a passkey, and send its answer with their form.
for (const button of document.querySelectorAll('button[data-passkey]')) {
  const { passkey: address, makes, field } = button.dataset;
  const said = button.form.querySelector('[data-passkey-said]');
  button.addEventListener('click', async () => {
    if (makes === 'yes' && !button.form.reportValidity()) return;
    said.textContent = '';
    if (window.PublicKeyCredential?.parseCreationOptionsFromJSON === undefined) {
      said.textContent = 'This browser has no passkeys, or needs HTTPS for them.';
      return;
    }
    button.disabled = true;
    try {
      const reply = await fetch(address, { redirect: 'error' });
      if (!reply.ok) throw new Error('Reload the page, and try again.');
      const options = await reply.json();
      const credential =
        makes === 'yes'
          ? await navigator.credentials.create({
              publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
            })
          : await navigator.credentials.get({
              publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
            });
      button.form.elements[field].value = JSON.stringify(credential);
      button.form.submit();
    } catch (error) {
      said.textContent = WHY[error.name]?.() ?? `It did not work: ${error.message}`;
      button.disabled = false;
    }
  });
}

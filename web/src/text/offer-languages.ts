let areOffered = false;

/** Looks for languages that the installation adds, once. */
export function offerLanguages(): void {
  if (areOffered) return;
  areOffered = true;
  void import('./packs')
    .then(({ findLanguages }) => findLanguages())
    .catch(() => {
      areOffered = false;
    });
}

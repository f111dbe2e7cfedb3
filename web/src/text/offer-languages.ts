import { untilDone } from '../api/outage';

let areOffered = false;

/** Looks for languages that the installation adds, once. */
export function offerLanguages(): void {
  if (areOffered) return;
  areOffered = true;
  untilDone(async () => (await import('./packs')).findLanguages()).catch(() => {
    areOffered = false;
  });
}

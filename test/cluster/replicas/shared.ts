import { after } from 'mocha';
import { grantRights } from './callers.ts';
import { Installation } from './installation.ts';

let started: Promise<Installation> | undefined;

/** Returns the installation of all suites of a run, with the rights of `callers.ts`. Each suite must leave two ready replicas. */
export function installation(): Promise<Installation> {
  started ??= Installation.start().then(async (made) => {
    await grantRights(made.admin);
    return made;
  });
  return started;
}

after(async () => (await started)?.stop());

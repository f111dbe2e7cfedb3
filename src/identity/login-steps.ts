/** Steps of a visit to the login page. */
import { seenWithinMs } from '../kubernetes/until.ts';
import { subjectOf } from '../users/record/subject-name.ts';
import { resultOf } from './account.ts';
import { factorStep, missingFactor } from './factor-step.ts';
import { codesStep, newFactorStep } from './new-factor-step.ts';
import { newPasswordStep } from './new-password-step.ts';
import { noticesStep } from './notices-step.ts';
import type { Page } from './page.ts';
import { type LoginPageParts, passwordStep } from './password-step.ts';
import type { StepName } from './progress.ts';
import { requestScope } from './request-scope.ts';
import { aboutUser, type Proved, type Step, type StepParts, stale } from './step.ts';
import { finish, type Visit } from './visit.ts';

/** Steps after the password, each with the step that follows it. The last one completes the login. */
const steps: Readonly<Record<StepName, Step & { next: StepName | undefined }>> = {
  factor: { ...factorStep, next: 'notices' },
  notices: { ...noticesStep, next: 'newFactor' },
  newFactor: { ...newFactorStep, next: 'codes' },
  codes: { ...codesStep, next: 'newPassword' },
  newPassword: { ...newPasswordStep, next: undefined },
};

/**
 * Handles a form of the login page.
 *
 * @throws SessionNotFound for a form of another visit; StatusError 429, 503, 504
 */
export async function takeForm(parts: LoginPageParts, visit: Visit, form: URLSearchParams): Promise<void> {
  const proof = form.get('proof');
  const taken = proof === null ? await passwordStep.take(parts, visit, form) : await takeLaterForm(parts, visit, proof, form);
  const page = 'content' in taken ? taken : await nextPage(parts, visit, taken);
  if (page !== undefined) return parts.views.send(visit.ctx, page);
}

interface Taken extends Proved {
  next: StepName | undefined;
}

async function takeLaterForm(parts: LoginPageParts, visit: Visit, proof: string, form: URLSearchParams): Promise<Taken | Page> {
  const progress = await parts.progress.open(proof, visit.interaction.uid);
  if (progress === undefined) throw stale();
  const missing = progress.step === 'factor' ? undefined : await missingFactor(parts, visit, progress);
  if (missing !== undefined) return missing;
  const { take, next } = steps[progress.step];
  const taken = await take(parts, visit, progress, form);
  return 'content' in taken ? taken : { ...taken, next };
}

/** Returns the page of the next step that the login requires; undefined if the login is complete. */
async function nextPage(parts: StepParts, visit: Visit, { next, ...proved }: Taken): Promise<Page | undefined> {
  for (let name = next; name !== undefined; name = steps[name].next) {
    const page = await steps[name].show(parts, visit, proved);
    if (page !== undefined) return page;
  }
  await succeed(parts, visit, proved);
  return undefined;
}

async function succeed(parts: StepParts, visit: Visit, { progress, account }: Proved): Promise<void> {
  await parts.accounts.waitFor(account.resourceVersion, seenWithinMs, requestScope().signal);
  await parts.knownBrowsers.remember(visit.ctx, account.uid);
  // The console records its own logins.
  if (visit.clientID !== parts.consoleClientID)
    parts.services.audit.record({ audit: 'LoginSucceeded', ...aboutUser(visit, account), outcome: 'success' });
  const { amr, acr } = progress;
  const login = { accountId: subjectOf(account), remember: false, amr, acr };
  await finish(visit, { login, consent: {}, enrol: {}, ...resultOf(account) });
}

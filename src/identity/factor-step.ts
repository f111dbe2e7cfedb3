import type { Factor } from '../factors/resource.ts';
import { auditOrigin } from '../http/audit.ts';
import { factorPage } from './factor-pages.ts';
import type { Page } from './page.ts';
import { type Progress, proving } from './progress.ts';
import { passkeyIn, type Step, type StepParts, stale } from './step.ts';
import { formTargetsOf, textsOf, type Visit } from './visit.ts';

/** Asks for the second factor, if the user has one. */
export const factorStep: Step = {
  show: (parts, visit, { progress }) => missingFactor(parts, visit, progress),

  async take(parts, visit, progress, form) {
    const { factors } = parts;
    if (factors === undefined) throw stale();
    const { name, uid, email, sessionsNotBefore } = progress;
    const passkey = await passkeyIn(parts, visit, form, uid);
    const given = passkey ?? form.get('code') ?? '';
    const verdict = await factors.verify({ name, uid, email, sessionsNotBefore }, given, auditOrigin(visit.ctx));
    if (verdict.outcome === 'ok') return { progress: proving(progress, verdict.means), account: verdict.account };
    visit.ctx.status = 403;
    return pageFor(parts, visit, progress, await factors.list(progress), passkey === undefined ? 'code' : 'passkey');
  },
};

/**
 * Returns the page that asks for an existing factor; undefined if the user has proved or set up one in this visit, or has none. Another
 * visit may have set up a factor since the password was given: an older form must neither bypass nor replace it.
 *
 * @throws StatusError 503, 504
 */
export async function missingFactor(parts: StepParts, visit: Visit, progress: Progress): Promise<Page | undefined> {
  if (parts.factors === undefined || progress.hasSetUp || progress.amr.includes('mfa')) return undefined;
  const factors = await parts.factors.list(progress);
  return factors.length > 0 ? pageFor(parts, visit, progress, factors) : undefined;
}

/** @param was kind of the wrong input, if any */
async function pageFor(
  parts: StepParts,
  visit: Visit,
  progress: Progress,
  factors: readonly Factor[],
  was?: 'code' | 'passkey',
): Promise<Page> {
  return factorPage(textsOf(parts, visit), {
    proof: parts.progress.seal(progress, 'factor'),
    isWrong: was !== undefined,
    was: was ?? 'code',
    passkey: await passkeyOptions(parts, visit, progress, factors),
    hasApp: factors.some(({ type }) => type === 'TOTP'),
    formTargets: formTargetsOf(visit),
  });
}

/** Returns options for the user's passkeys; undefined if none is valid on this host. */
async function passkeyOptions({ passkeys: parts }: StepParts, { interaction }: Visit, { uid }: Progress, factors: readonly Factor[]) {
  const credentials = (await parts?.passkeys.credentialsIn(factors)) ?? [];
  if (parts === undefined || credentials.length === 0) return undefined;
  const { text, sealed } = parts.challenges.give(interaction.uid, uid);
  return { challenge: sealed, options: parts.passkeys.requestOptions(text, credentials) };
}

/**
 * Prevents mix-up attacks: one of several issuers could redirect a browser to another issuer and receive that issuer's code (RFC 9700
 * section 4.4). Each answer must identify its issuer, by `iss` or by a redirect URL that only this issuer uses.
 */
import { ConfigError } from '../config/load.ts';
import { abortable } from '../kubernetes/abortable.ts';
import { announcesIss } from './discovery.ts';
import { IssuerFault, issuerUnavailable } from './errors.ts';
import type { Issuer } from './issuer.ts';

/** An issuer that does not answer in this time is checked when users log in there. */
const startMs = 5_000;

type Asked = Pick<Issuer, 'settings' | 'client'>;

/** @throws StatusError 503 */
async function isMixable({ settings, client }: Asked): Promise<boolean> {
  if (!settings.isOneOfSeveral || settings.isEmbedded || settings.redirectURL !== undefined) return false;
  return !announcesIss(await client.metadata());
}

/** @throws StatusError 503 for an issuer whose answers do not identify it */
export async function requireTellable(issuer: Asked): Promise<void> {
  if (await isMixable(issuer)) throw issuerUnavailable(new IssuerFault('announces no iss, and has no redirectURL of its own'));
}

/** @throws ConfigError for issuers that can be reached, and whose answers do not identify them */
export async function requireAllTellable(issuers: Iterable<Asked>): Promise<void> {
  const deadline = AbortSignal.timeout(startMs);
  const problems = await Promise.all(
    [...issuers].map(async (issuer, index) => {
      const isRefused = await abortable(isMixable(issuer), deadline).catch(() => false);
      const message = `is required: ${issuer.settings.id} does not announce iss (RFC 9207); its query holds issuer=${issuer.settings.id}`;
      return isRefused ? [{ path: `login.issuers[${index}].redirectURL`, message }] : [];
    }),
  );
  if (problems.flat().length > 0) throw new ConfigError(problems.flat());
}

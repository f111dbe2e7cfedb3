/**
 * Of several issuers, one could send a browser on to another and be given the other's code (RFC 9700 section 4.4). Each answer has to say
 * whose it is: by `iss`, or by an address that this issuer alone sends browsers back to.
 */
import { ConfigError } from '../config/load.ts';
import { abortable } from '../kubernetes/abortable.ts';
import { announcesIss } from './discovery.ts';
import { IssuerFault, issuerUnavailable } from './errors.ts';
import type { Issuer } from './issuer.ts';

/** One that does not answer by then is looked at when people log in there. */
const startMs = 5_000;

type Asked = Pick<Issuer, 'settings' | 'client'>;

/** @throws StatusError 503 */
async function isMixable({ settings, client }: Asked): Promise<boolean> {
  if (!settings.isOneOfSeveral || settings.isEmbedded || settings.redirectURL !== undefined) return false;
  return !announcesIss(await client.metadata());
}

/** @throws StatusError 503 for an issuer whose answers could be those of another */
export async function requireTellable(issuer: Asked): Promise<void> {
  if (await isMixable(issuer)) throw issuerUnavailable(new IssuerFault('announces no iss, and has no redirectURL of its own'));
}

/** @throws ConfigError for issuers that can be reached, and whose answers could be those of another */
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

/** Machine users: users without a login, who act by tokens that their record trusts. */
import { z } from 'zod';

/** `spec.connector_type` and `spec.connector_id` of machine users. */
export const machineType = 'machine';

export const machineSource = { connector_type: machineType, connector_id: machineType, connector_name: 'Machine' };

/** Prefix of the names of machine users in Kubernetes. No issuer may give such a name to a user. */
export const machineNamePrefix = 'machine:';

/** Returns the user name of a machine user in Kubernetes. */
export const machineSubjectName = (email: string): string => `${machineNamePrefix}${email}`;

/** A pattern: segments end at `/` and `:`, and `*` stands for a whole one. */
const patternForm = /^(?:\*|[^*/:]*)(?:[/:](?:\*|[^*/:]*))*$/;

/** Limits of the custom resource definition. */
export const trustedToken = z.strictObject({
  issuer: z.string().min(1).max(512).describe('Issuer in `tokenExchange.issuers`, as the claim `iss` has it.'),
  audience: z.string().min(1).max(512).describe('The claim `aud`, exactly.'),
  claims: z
    .record(
      z.string().min(1).max(128),
      z.string().min(1).max(1024).regex(patternForm, 'must hold `*` only as a whole segment between `/` and `:`'),
    )
    .refine((claims) => Object.keys(claims).length > 0, 'must not be empty')
    .refine((claims) => Object.keys(claims).length <= 16, 'may not hold more than 16 claims')
    .describe('Texts that claims of the token must have. `*` stands for one segment; segments end at `/` and `:`.'),
  once: z.boolean().exactOptional().describe('Accepts each token once, by its `jti`.'),
});

export type TrustedToken = Readonly<z.output<typeof trustedToken>>;

export const maxTrustedTokens = 10;

/**
 * Returns the valid entries of a record. An entry with any fault is dropped as a whole: without one of its claims it would trust more
 * tokens.
 */
export function trustedTokensOf(spec: unknown): readonly TrustedToken[] {
  const { federation } = z.looseObject({ federation: z.array(z.unknown()).max(maxTrustedTokens).catch([]) }).safeParse(spec).data ?? {};
  return (federation ?? []).flatMap((entry) => trustedToken.safeParse(entry).data ?? []);
}

interface TokenClaims {
  readonly iss: string;
  readonly [claim: string]: unknown;
}

/** Reports whether an entry trusts a verified token. Claims that are no texts never fit. */
export function isTrusted({ issuer, audience, claims }: TrustedToken, token: TokenClaims): boolean {
  if (token.iss !== issuer || ![token.aud].flat().includes(audience)) return false;
  return Object.entries(claims).every(([name, pattern]) => {
    const value = Object.hasOwn(token, name) ? token[name] : undefined;
    return typeof value === 'string' && fitsPattern(pattern, value);
  });
}

/** Compares segment by segment, so that a `*` never stands for more than one. */
function fitsPattern(pattern: string, value: string): boolean {
  const [wanted, given] = [pattern, value].map((text) => text.split(/([/:])/));
  if (wanted === undefined || wanted.length !== given?.length) return false;
  return wanted.every((part, index) => part === given[index] || (part === '*' && given[index] !== ''));
}

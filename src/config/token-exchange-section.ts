/** Settings of the token exchange for machine users (RFC 8693). */
import { z } from 'zod';
import { httpURL } from './formats.ts';
import { oneIssuer } from './login-sections.ts';
import { dnsLabel, duration, isUnique } from './units.ts';

const minTokenMs = 60_000;
const maxTokenMs = 3_600_000;

const workloadIssuer = z.strictObject({
  id: dnsLabel().describe('Name of the issuer in the audit, the log and metrics.'),
  issuer: httpURL()
    .refine((text) => !/[?#]/.test(text), 'must hold no query or fragment')
    .describe('Issuer identifier, equal to the `iss` claim, with a slash at the end if the claim has one.'),
  audience: z
    .string()
    .regex(/^[\x21-\x7e]{1,512}$/, 'must be visible ASCII')
    .describe(
      'Audience that workloads ask for, such as `server.publicURL`. A token with any other audience, or a further one, is refused.',
    ),
  caFile: oneIssuer.caFile,
  algorithm: oneIssuer.idTokenAlgorithm.describe(
    'Signature algorithm of the tokens. Default: RS256, or those that an issuer without RS256 announces.',
  ),
});

export const tokenExchangeSection = z.strictObject({
  issuers: z
    .array(workloadIssuer)
    .max(20)
    .refine((issuers) => isUnique(issuers.map(({ id }) => id)), 'must not hold an id twice')
    .refine(
      (issuers) => isUnique(issuers.map(({ issuer, audience }) => JSON.stringify([issuer, audience]))),
      'must not hold an issuer twice with the same audience',
    )
    .default([])
    .describe('Issuers whose tokens machine users may trust. `spec.federation` of a user can name no others.'),
  tokenTTL: duration()
    .refine((ms) => ms >= minTokenMs && ms <= maxTokenMs, 'must be between 1m and 1h')
    .prefault('1h')
    .describe('Maximum lifetime of an exchanged token, which ends with the token of the workload at the latest.'),
});

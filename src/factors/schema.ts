import { z } from 'zod';
import { shownLabel } from '../api/shown-text.ts';

export const factorID = z
  .string()
  .regex(/^[prt]-[0-9a-f]{64}$/)
  .describe('Name of the Factor.');

const factorSchema = z
  .object({
    id: z.string(),
    type: z.enum(['Passkey', 'TOTP', 'RecoveryCodes']),
    name: z.string().describe('What its owner calls it; may be empty.'),
    created: z.iso.datetime(),
    lastUsed: z.iso.datetime().exactOptional(),
    suspected: z.iso
      .datetime()
      .exactOptional()
      .describe('Since when a passkey counts no longer: its counter went back, as that of a copy does.'),
    left: z.int().exactOptional().describe('Recovery codes that were not used yet.'),
  })
  .meta({ id: 'Factor' });

export type ShownFactor = z.output<typeof factorSchema>;

const phone: ShownFactor = {
  id: 't-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  type: 'TOTP',
  name: 'phone',
  created: '2026-03-01T11:00:00Z',
  lastUsed: '2026-03-02T08:30:00Z',
};

export const factorExample = factorSchema.meta({ examples: [phone] });

export const factorListSchema = z
  .object({
    rule: z.enum(['required', 'optional', 'off']).describe('What the rules say of the user (`login.factors`).'),
    kinds: z.array(z.enum(['passkey', 'totp'])).describe('What the user can set up; none where the rule is `off`.'),
    isChangeable: z.boolean().describe('Whether this login can set up, rename and remove them: that of the user at the embedded issuer.'),
    isTOTPSuspended: z.boolean().describe('Too many codes were wrong: those of an app count no longer.'),
    items: z.array(factorSchema),
  })
  .meta({
    id: 'FactorList',
    examples: [{ rule: 'optional', kinds: ['passkey', 'totp'], isChangeable: true, isTOTPSuspended: false, items: [phone] }],
  });

export type ShownFactors = z.output<typeof factorListSchema>;

export const renameBody = z
  .strictObject({ name: shownLabel(64, z.string().trim()).describe('What its owner calls it.') })
  .meta({ id: 'FactorName', examples: [{ name: 'phone' }] });

import { shownLabel } from '@atrium/objects/object-schemas.ts';
import { z } from 'zod';

export const factorID = z
  .string()
  .regex(/^[prt]-[0-9a-f]{64}$/)
  .describe('Name of the Factor.');

const factorSchema = z
  .object({
    id: z.string(),
    type: z.enum(['Passkey', 'TOTP', 'RecoveryCodes']),
    name: z.string().describe('Name given by the owner. May be empty.'),
    created: z.iso.datetime(),
    lastUsed: z.iso.datetime().exactOptional(),
    suspected: z.iso
      .datetime()
      .exactOptional()
      .describe('Time when the passkey was disabled because its counter decreased, which indicates a copy.'),
    left: z.int().exactOptional().describe('Number of unused recovery codes.'),
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
    rule: z.enum(['required', 'optional', 'off']).describe('Rule for the user (`login.factors`).'),
    kinds: z.array(z.enum(['passkey', 'totp'])).describe('Kinds that the user can set up. Empty with the rule `off`.'),
    isChangeable: z
      .boolean()
      .describe('`true` if this login can set up, rename and remove factors: a login of the user at the embedded issuer.'),
    isTOTPSuspended: z.boolean().describe('Codes of an app are refused after too many wrong ones.'),
    items: z.array(factorSchema),
  })
  .meta({
    id: 'FactorList',
    examples: [{ rule: 'optional', kinds: ['passkey', 'totp'], isChangeable: true, isTOTPSuspended: false, items: [phone] }],
  });

export type ShownFactors = z.output<typeof factorListSchema>;

export const renameBody = z
  .strictObject({ name: shownLabel(64, z.string().trim()).describe('Name given by the owner.') })
  .meta({ id: 'FactorName', examples: [{ name: 'phone' }] });

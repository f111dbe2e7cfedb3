import { hash } from 'node:crypto';

/** Sixteen of the letters of generated names (k8s.io/apimachinery, `rand.SafeEncodeString`), one for each hexadecimal digit. */
const letters = 'bcdfghjklmnpqrst';

/** Returns the hash of a template in the letters of generated names, so that pods are told from those of other workloads by their names. */
export const templateHash = (template: unknown): string =>
  hash('sha256', JSON.stringify(template))
    .slice(0, 10)
    .replace(/./g, (digit) => letters.charAt(Number.parseInt(digit, 16)));

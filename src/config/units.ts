import { z } from 'zod';

const factors = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const sizes = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** Parses `30s`, `5m`, `12h`, `7d` or `250ms` to milliseconds. */
export const duration = () =>
  z
    .string()
    .regex(/^\d{1,9}(ms|s|m|h|d)$/, 'must be a duration such as 250ms, 30s, 5m, 12h or 7d')
    .transform((text) => Number.parseInt(text, 10) * factors[text.replace(/^\d+/, '') as keyof typeof factors])
    .meta({ title: 'duration' });

export const sizePattern = /^\d{1,12}(KiB|MiB|GiB)?$/;
export const sizeMessage = 'must be a size such as 65536, 512KiB or 1MiB';

/** Parses `1MiB`, `512KiB` or plain bytes to bytes. */
export const size = () =>
  z
    .union([z.number().int().nonnegative().transform(String), z.string()])
    .pipe(z.string().regex(sizePattern, sizeMessage))
    .transform((text) => Number.parseInt(text, 10) * sizes[text.replace(/^\d+/, '') as keyof typeof sizes])
    .meta({ title: 'size' });

/** Title of settings that name a file or directory, in the schema. */
export const pathTitle = 'path';

/** A file or directory, relative to the working directory of the process. */
export const path = () => z.string().min(1).meta({ title: pathTitle });

export const isUnique = (values: readonly string[]) => new Set(values).size === values.length;

export const dnsLabel = () =>
  z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a DNS label: lower-case letters, digits and hyphens');

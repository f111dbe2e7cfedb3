import { decodeJwt } from 'jose';
import { z } from 'zod';

/** End of the year 9999. RFC 3339, and so Kubernetes and clients, can write no later time. */
const lastSecond = 253_402_300_799;

/** Bounds a time in Unix seconds: tokens without an end have one beyond what a `Date` holds. */
export const boundedTime = (seconds: number): number => Math.min(seconds, lastSecond);

/** NumericDate of RFC 7519, bounded. Refuses times before 1970, which no token has. */
export const numericDate = z.number().min(0).transform(boundedTime);

const timesSchema = z.object({ iat: numericDate.optional().catch(undefined), exp: numericDate.optional().catch(undefined) });

/** Returns the times in a JWT that need not be verified; undefined where it has no usable one, and for other tokens. */
export function timesIn(token: string): z.output<typeof timesSchema> {
  try {
    return timesSchema.parse(decodeJwt(token));
  } catch {
    return {};
  }
}

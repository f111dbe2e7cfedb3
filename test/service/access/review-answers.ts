import { expect } from 'chai';
import { z } from 'zod';

export const listUsers = { resourceAttributes: { verb: 'list', group: 'auth.platform.io', resource: 'users' } };

const failure = z.looseObject({
  kind: z.literal('Status'),
  status: z.literal('Failure'),
  code: z.number(),
  reason: z.string(),
  message: z.string(),
  details: z.looseObject({ causes: z.array(z.looseObject({ field: z.string().optional() })).optional() }).optional(),
});

/** Returns code, reason and fields of a refused review. */
export async function refusal(response: Response) {
  const { code, reason, details } = failure.parse(await response.json());
  expect(response.status).to.equal(code);
  return { code, reason, fields: details?.causes?.map(({ field }) => field) };
}
